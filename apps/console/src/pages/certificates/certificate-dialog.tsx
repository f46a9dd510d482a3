import type { CertificateView, Environment } from '@herald/client'
import {
  Button,
  FileInput,
  Group,
  JsonInput,
  Modal,
  NativeSelect,
  PasswordInput,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { putCertificate } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { isJsonObject } from '../../parts/json-object.ts'
import { Problem } from '../../parts/problem.tsx'
import { useWords } from '../../parts/words.ts'
import {
  type CertificateField,
  type CertificateForm,
  certificateForms,
  certificateOf,
  keyOf,
} from './fields.ts'
import { readCertificateFile } from './read-file.ts'

type Props = { opened: boolean; known: CertificateView[]; onClose(): void }

/** Each opening begins with a blank form: secrets of the last one must not linger. */
export function CertificateDialog({ opened, known, onClose }: Props) {
  const { t } = useTranslation()
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      size="lg"
      title={t('certificates.formTitle')}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      <Form known={known} onClose={onClose} />
    </Modal>
  )
}

function Form({ known, onClose }: Omit<Props, 'opened'>) {
  const { t } = useTranslation()
  const { channel } = useWords()
  const appId = useAppId()
  const queries = useQueryClient()
  const [index, setIndex] = useState(0)
  const [environment, setEnvironment] = useState<Environment>(1)
  const [name, setName] = useState('')
  const [values, setValues] = useState<Record<string, string>>({})
  const [more, setMore] = useState('')
  const form = certificateForms[index]!
  const badMore = more.trim() !== '' && !isJsonObject(more)
  const saving = useMutation({
    mutationFn: () => putCertificate(appId, certificateOf(form, { environment, name }, values, more)),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['certificates', appId] })
      onClose()
    },
  })
  const titleOf = ({ channel: id, kind }: CertificateForm) =>
    kind ? `${channel(id)}: ${t(`certificates.kind${kind}`)}` : channel(id)
  const replaces = known.some((one) => one.provider === form.provider && one.environment === environment)
  const set = (key: string) => (value: string) => setValues((before) => ({ ...before, [key]: value }))
  const isExtra = ({ to }: CertificateField) => typeof to !== 'string'
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
              saving.reset()
            }}
            data={certificateForms.map((one, at) => ({ value: String(at), label: titleOf(one) }))}
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
        {form.fields
          .filter((field) => !isExtra(field))
          .map((field) => (
            <Field
              key={keyOf(field)}
              field={field}
              value={values[keyOf(field)] ?? ''}
              onChange={set(keyOf(field))}
            />
          ))}
        <details>
          <summary>{t('certificates.extra')}</summary>
          <Stack gap="sm" mt="sm">
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              {form.fields.filter(isExtra).map((field) => (
                <Field
                  key={keyOf(field)}
                  field={field}
                  value={values[keyOf(field)] ?? ''}
                  onChange={set(keyOf(field))}
                />
              ))}
            </SimpleGrid>
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

type FilePickerProps = { file: NonNullable<CertificateForm['file']>; onRead(text: string): void }

function FilePicker({ file, onRead }: FilePickerProps) {
  const { t } = useTranslation()
  const [chosen, setChosen] = useState<File | null>(null)
  const [tooLarge, setTooLarge] = useState(false)
  return (
    <FileInput
      label={t('certificates.file')}
      description={t('certificates.fileHint')}
      placeholder={file.accept}
      accept={file.accept}
      value={chosen}
      clearable={false}
      error={tooLarge && t('certificates.fileTooLarge')}
      onChange={async (next) => {
        setChosen(next)
        if (!next) return
        const text = await readCertificateFile(next, file.as)
        setTooLarge(text === undefined)
        if (text !== undefined) onRead(text)
      }}
    />
  )
}

type FieldProps = { field: CertificateField; value: string; onChange(value: string): void }

function Field({ field, value, onChange }: FieldProps) {
  const { t } = useTranslation()
  const word = t(`certificateField.${field.label}`)
  const label =
    field.optional && typeof field.to === 'string' ? t('certificateField.optional', { name: word }) : word
  const shared = {
    label,
    value,
    spellCheck: false,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value),
  }
  switch (field.kind) {
    case 'secret':
      return (
        <PasswordInput
          {...shared}
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-hidden': true }}
        />
      )
    case 'long':
      return <Textarea {...shared} autosize minRows={3} maxRows={8} classNames={{ input: 'code' }} />
    case 'flag':
    case 'choice':
      return (
        <NativeSelect
          {...shared}
          data={[
            { value: '', label: t('send.notSet') },
            ...(field.kind === 'flag'
              ? [
                  { value: 'true', label: t('app.yes') },
                  { value: 'false', label: t('app.no') },
                ]
              : (field.options ?? []).map((option) => ({ value: option, label: option }))),
          ]}
        />
      )
    default:
      return <TextInput {...shared} />
  }
}
