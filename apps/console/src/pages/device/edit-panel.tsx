import type { DeviceView } from '@herald/client'
import { platforms } from '@herald/domain'
import { Button, Group, JsonInput, NativeSelect, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { putDevice } from '../../api/calls.ts'
import { isJsonObject } from '../../calculations/json-object.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { FieldGroup } from '../../components/field-group.tsx'
import { Panel } from '../../components/panel.tsx'
import { SuccessAlert } from '../../components/success-alert.tsx'
import { TagInput } from '../../components/tag-input.tsx'
import { useAppId } from '../../session/session.ts'
import { changeOf, type DeviceForm, formOf } from './device-change.ts'

export function EditPanel({ device }: { device: DeviceView }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const queries = useQueryClient()
  /** Only the fields that the user has changed, so that the page can be refreshed at any time. */
  const [edits, setEdits] = useState<Partial<DeviceForm>>({})
  const form = { ...formOf(device), ...edits }
  const invalid = form.attributes.trim() !== '' && !isJsonObject(form.attributes)
  const change = invalid ? undefined : changeOf(device, form)
  const saving = useMutation({
    mutationFn: async () => {
      if (change) await putDevice(appId, change)
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['device', appId, device.device_guid] })
      setEdits({})
    },
  })
  const set = (edit: Partial<DeviceForm>) => {
    saving.reset()
    setEdits((before) => ({ ...before, ...edit }))
  }
  const textInput = (
    name: 'alias' | 'userId' | 'locale' | 'timezone' | 'appVersion',
    label: string,
    more: { description?: string; placeholder?: string; maxLength?: number } = {},
  ) => (
    <TextInput
      label={label}
      value={form[name]}
      onChange={({ currentTarget }) => set({ [name]: currentTarget.value })}
      {...more}
    />
  )
  return (
    <Panel title={t('device.edit')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (change) saving.mutate()
        }}
      >
        <Stack gap="sm">
          <FieldGroup busy={saving.isPending}>
            <Switch
              label={t('device.enabled')}
              description={t('device.enabledHint')}
              checked={form.enabled}
              onChange={({ currentTarget }) => set({ enabled: currentTarget.checked })}
            />
            {textInput('alias', t('devices.alias'), { description: t('device.aliasHint'), maxLength: 128 })}
            <TagInput
              label={t('devices.tags')}
              description={t('device.tagsHint')}
              value={form.tags}
              maxTags={100}
              acceptValueOnBlur
              // Tags that differ in case are different.
              isDuplicate={(value, present) => present.includes(value)}
              onChange={(tags) => set({ tags })}
            />
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              {textInput('userId', t('devices.user'), {
                description: device.user_id === null ? undefined : t('device.userHint'),
              })}
              <NativeSelect
                label={t('devices.platform')}
                value={form.platform}
                onChange={({ currentTarget }) => set({ platform: currentTarget.value })}
                data={[
                  { value: '', label: t('platform.unknown') },
                  ...platforms.map((value) => ({ value, label: t(`platform.${value}`) })),
                ]}
              />
              {textInput('locale', t('device.locale'), { placeholder: 'zh-CN' })}
              {textInput('timezone', t('device.timezone'), { placeholder: 'Asia/Shanghai' })}
              {textInput('appVersion', t('device.appVersion'), { placeholder: '2.4.1' })}
            </SimpleGrid>
            <JsonInput
              label={t('device.attributes')}
              description={t('device.attributesHint')}
              placeholder='{"level": 3}'
              value={form.attributes}
              autosize
              minRows={2}
              validationError={t('app.invalidJson')}
              error={invalid && t('app.invalidJson')}
              onChange={(attributes) => set({ attributes })}
            />
          </FieldGroup>
          {saving.isError && <ErrorAlert error={saving.error} />}
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
