import type { ApplicationSettings } from '@herald/client'
import { strategies } from '@herald/domain'
import { Button, Group, NativeSelect, NumberInput, SimpleGrid, Stack, Switch } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { changeSettings } from '../../api/calls.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { FieldGroup } from '../../components/field-group.tsx'
import { Panel } from '../../components/panel.tsx'
import { SuccessAlert } from '../../components/success-alert.tsx'
import { useAppId } from '../../session/session.ts'
import { changeOf, formOf, type SettingsForm } from './settings-change.ts'

export function SettingsPanel({ settings }: { settings: ApplicationSettings }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const queries = useQueryClient()
  const [edits, setEdits] = useState<Partial<SettingsForm>>({})
  const form = { ...formOf(settings), ...edits }
  const change = changeOf(settings, form)
  const saving = useMutation({
    mutationFn: async () => change && changeSettings(appId, change),
    onSuccess: (changed) => {
      if (changed) queries.setQueryData(['settings', appId], changed)
      setEdits({})
    },
  })
  const set = (edit: Partial<SettingsForm>) => {
    saving.reset()
    setEdits((before) => ({ ...before, ...edit }))
  }
  const numberInput = (
    name: 'ttl' | 'registerPerDay' | 'perDevicePerDay',
    label: string,
    description: string,
    max: number,
  ) => (
    <NumberInput
      label={label}
      description={description}
      value={form[name]}
      min={0}
      max={max}
      allowDecimal={false}
      hideControls
      onChange={(value) => set({ [name]: String(value) })}
    />
  )
  return (
    <Panel title={t('settings.pushes')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (change) saving.mutate()
        }}
      >
        <Stack gap="sm">
          <FieldGroup busy={saving.isPending}>
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              <NativeSelect
                label={t('settings.strategy')}
                description={t('settings.strategyHint')}
                value={form.strategy}
                onChange={({ currentTarget }) => set({ strategy: currentTarget.value })}
                data={strategies.map((value) => ({ value, label: t(`send.${value}`) }))}
              />
              {numberInput('ttl', t('settings.ttl'), t('settings.ttlHint'), 2_592_000)}
              {numberInput('perDevicePerDay', t('settings.perDevice'), t('settings.perDeviceHint'), 255)}
              {numberInput(
                'registerPerDay',
                t('settings.registerPerDay'),
                t('settings.registerPerDayHint'),
                1_000_000_000,
              )}
            </SimpleGrid>
            <Switch
              label={t('settings.register')}
              description={t('settings.registerHint')}
              checked={form.register}
              onChange={({ currentTarget }) => set({ register: currentTarget.checked })}
            />
          </FieldGroup>
          <ErrorAlert error={saving.error} />
          {saving.isSuccess && !change && <SuccessAlert>{t('app.saved')}</SuccessAlert>}
          <Group justify="flex-end">
            <Button type="submit" variant="default" disabled={!change} loading={saving.isPending}>
              {t('app.save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  )
}
