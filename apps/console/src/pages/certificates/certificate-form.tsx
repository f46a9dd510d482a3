import type { CertificateView, Environment } from '@herald/client'
import { Button, Group, JsonInput, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { putCertificate } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { isJsonObject } from '../../parts/json-object.ts'
import { Problem } from '../../parts/problem.tsx'
import { useWords } from '../../parts/words.ts'
import { FieldInput } from './field-input.tsx'
import { FilePicker } from './file-picker.tsx'
import { type CertificateField, certificateOf, keyOf, type VendorForm, vendorForms } from './vendor-forms.ts'

type Props = { known: CertificateView[]; onClose(): void }

export function CertificateForm({ known, onClose }: Props) {
  const { t } = useTranslation()
  const { channel } = useWords()
  const appId = useAppId()
  const queries = useQueryClient()
  const [index, setIndex] = useState(0)
  const [environment, setEnvironment] = useState<Environment>(1)
  const [name, setName] = useState('')
  const [values, setValues] = useState<Record<string, string>>({})
  const [more, setMore] = useState('')
  const form = vendorForms[index]!
  const badMore = more.trim() !== '' && !isJsonObject(more)
  const saving = useMutation({
    mutationFn: () => putCertificate(appId, certificateOf(form, { environment, name }, values, more)),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['certificates', appId] })
      onClose()
    },
  })
  const titleOf = ({ channel: id, kind }: VendorForm) =>
    kind ? `${channel(id)}: ${t(`certificates.kind${kind}`)}` : channel(id)
  const replaces = known.some((one) => one.provider === form.provider && one.environment === environment)
  const set = (key: string) => (value: string) => setValues((before) => ({ ...before, [key]: value }))
  const isExtra = ({ to }: CertificateField) => typeof to !== 'string'
  const inputOf = (field: CertificateField) => {
    const key = keyOf(field)
    return <FieldInput key={key} field={field} value={values[key] ?? ''} onChange={set(key)} />
  }
  return (
    <form
      autoComplete="off"
      onSubmit={(event) => {
        event.preventDefault()
        if (!badMore) saving.mutate()
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
              setMore('')
              saving.reset()
            }}
            data={vendorForms.map((one, at) => ({ value: String(at), label: titleOf(one) }))}
          />
          <NativeSelect
            label={t('certificates.environment')}
            value={String(environment)}
            onChange={({ currentTarget }) => setEnvironment(currentTarget.value === '0' ? 0 : 1)}
            data={[
              { value: '1', label: t('environment.1') },
              { value: '0', label: t('environment.0') },
            ]}
          />
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
        {form.file && <FilePicker key={index} file={form.file} onRead={set('certificate')} />}
        {form.fields.filter((field) => !isExtra(field)).map(inputOf)}
        <details>
          <summary>{t('certificates.extra')}</summary>
          <Stack gap="sm" mt="sm">
            <SimpleGrid cols={{ base: 1, xs: 2 }}>{form.fields.filter(isExtra).map(inputOf)}</SimpleGrid>
            <JsonInput
              label={t('certificates.extraJson')}
              description={t('certificates.extraJsonHint')}
              placeholder='{"default_class": "service"}'
              value={more}
              autosize
              minRows={2}
              error={badMore && t('certificates.extraBad')}
              onChange={setMore}
            />
          </Stack>
        </details>
        <Problem error={saving.error} />
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
