import type { CredentialField } from '@herald/channels/cards'
import type { CertificateView, Environment } from '@herald/client'
import { Button, Group, JsonInput, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { putCertificate } from '../../api/calls.ts'
import { isJsonObject } from '../../calculations/json-object.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'
import { FieldInput } from './field-input.tsx'
import { certificateOf, isExtra, isRegion, isReplaced, type VendorForm, vendorForms } from './vendor-forms.ts'

type Props = { existing: CertificateView[]; onClose(): void }

export function CertificateForm({ existing, onClose }: Props) {
  const { t } = useTranslation()
  const { channel, text } = useLabels()
  const appId = useAppId()
  const queries = useQueryClient()
  const [index, setIndex] = useState(0)
  const [environment, setEnvironment] = useState<Environment>(1)
  const [name, setName] = useState('')
  const [values, setValues] = useState<Record<string, string>>({})
  const [extraJson, setExtraJson] = useState('')
  const form = vendorForms[index]!
  const invalidExtra = extraJson.trim() !== '' && !isJsonObject(extraJson)
  const saving = useMutation({
    mutationFn: () => putCertificate(appId, certificateOf(form, { environment, name }, values, extraJson)),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['certificates', appId] })
      onClose()
    },
  })
  const titleOf = ({ channel: id, kind }: VendorForm) =>
    kind ? `${channel(id)}: ${text(kind)}` : channel(id)
  const replaces = existing.some((one) => isReplaced(one, form, environment, values))
  const set = (key: string) => (value: string) => setValues((before) => ({ ...before, [key]: value }))
  const inputOf = (field: CredentialField) => (
    <FieldInput
      // A file chosen for another vendor must not remain.
      key={`${index} ${field.to}`}
      field={field}
      value={values[field.to] ?? ''}
      onChange={set(field.to)}
    />
  )
  return (
    <form
      autoComplete="off"
      onSubmit={(event) => {
        event.preventDefault()
        if (!invalidExtra) saving.mutate()
      }}
    >
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <NativeSelect
            label={t('certificates.provider')}
            value={String(index)}
            onChange={({ currentTarget }) => {
              setIndex(Number(currentTarget.value))
              setValues({})
              setExtraJson('')
              saving.reset()
            }}
            data={vendorForms.map((one, at) => ({ value: String(at), label: titleOf(one) }))}
          />
          <NativeSelect
            label={t('app.environment')}
            value={String(environment)}
            onChange={({ currentTarget }) => setEnvironment(currentTarget.value === '0' ? 0 : 1)}
            data={[
              { value: '1', label: t('environment.1') },
              { value: '0', label: t('environment.0') },
            ]}
          />
          {form.fields.filter(isRegion).map(inputOf)}
        </SimpleGrid>
        {replaces && (
          <Text size="sm" c="dimmed">
            {t('certificates.replaces', { name: channel(form.channel) })}
          </Text>
        )}
        <TextInput
          label={t('certificates.name')}
          value={name}
          maxLength={128}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        {form.fields.filter(({ to }) => !isExtra(to)).map(inputOf)}
        <details>
          <summary>{t('certificates.extra')}</summary>
          <Stack gap="sm" mt="sm">
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              {form.fields.filter((field) => isExtra(field.to) && !isRegion(field)).map(inputOf)}
            </SimpleGrid>
            <JsonInput
              label={t('certificates.extraJson')}
              description={t('certificates.extraJsonHint')}
              placeholder='{"default_class": "service"}'
              value={extraJson}
              autosize
              minRows={2}
              error={invalidExtra && t('app.invalidJson')}
              onChange={setExtraJson}
            />
          </Stack>
        </details>
        <ErrorAlert error={saving.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('app.cancel')}
          </Button>
          <Button type="submit" loading={saving.isPending}>
            {t('app.save')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
