import type { CredentialField } from '@herald/channels/cards'
import type { CertificateCheck, CertificateView } from '@herald/client'
import {
  Alert,
  Anchor,
  Button,
  Group,
  JsonInput,
  NativeSelect,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { putCertificate } from '../../api/calls.ts'
import { isJsonObject } from '../../calculations/json-object.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { FieldGroup } from '../../components/field-group.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useDocsLink } from '../../session/docs-link.ts'
import { useAppId, useCurrentSession } from '../../session/session.ts'
import { CheckResult } from './check-result.tsx'
import {
  blankDraft,
  type CredentialDraft,
  changesCredentials,
  draftOf,
  isUsed,
  maskedValue,
  replacedBy,
  requestOf,
} from './credential-draft.ts'
import { FieldInput } from './field-input.tsx'
import { OneNeededInput } from './one-needed-input.tsx'
import { refusedField } from './refused-field.ts'
import { isInFront, isRegion, type VendorForm, vendorForms } from './vendor-forms.ts'

type Props = {
  editing: CertificateView | undefined
  existing: CertificateView[]
  onEdit(record: CertificateView): void
  onChanged(changed: boolean): void
  /** `before`: the record that was replaced. */
  onSaved(name: string, before: CertificateView | undefined): void
  onClose(): void
}

export function CertificateForm({ editing, existing, onEdit, onChanged, onSaved, onClose }: Props) {
  const { t } = useTranslation()
  const { channel, text } = useLabels()
  const appId = useAppId()
  const { applications } = useCurrentSession()
  const queries = useQueryClient()
  const docs = useDocsLink('put-admin-push-certificate')
  const packageName = applications.find(({ app_id }) => app_id === appId)?.package_name ?? ''
  const [draft, setDraft] = useState(() => (editing ? draftOf(editing) : blankDraft(0, packageName)))
  const [confirming, setConfirming] = useState(false)
  const [answer, setAnswer] = useState<CertificateCheck>()
  // Nothing is changed in a new form.
  useEffect(() => onChanged(false), [onChanged])
  const form = vendorForms[draft.form]!
  const name = channel(form.channel)
  const invalidExtra = draft.extraJson.trim() !== '' && !isJsonObject(draft.extraJson)
  const replaced = replacedBy(draft, existing, editing)
  const saving = useMutation({
    mutationFn: (check: boolean) =>
      putCertificate(appId, { ...requestOf(draft, editing), ...(check && { check: true }) }),
    onSuccess: async ({ saved, check }) => {
      if (!saved) {
        setAnswer(check ?? undefined)
        return
      }
      await queries.invalidateQueries({ queryKey: ['certificates', appId] })
      onSaved(name, editing ?? replaced)
    },
    onSettled: () => setConfirming(false),
  })
  // The place of a saved record cannot be changed.
  const shown = form.fields.filter((field) => isUsed(form, draft, field) && !(editing && isRegion(field)))
  const refused = refusedField(saving.error, shown)
  const further = useRef<HTMLDetailsElement>(null)
  const isFolded = refused !== undefined && !isInFront(refused) && !isRegion(refused)
  useEffect(() => {
    if (isFolded) further.current?.toggleAttribute('open', true)
  }, [isFolded])
  const change = (edit: Partial<CredentialDraft>) => {
    setDraft((before) => ({ ...before, ...edit }))
    setAnswer(undefined)
    saving.reset()
    onChanged(true)
  }
  const titleOf = ({ channel: id, kind }: VendorForm) =>
    kind ? `${channel(id)}${t('app.colon')}${text(kind)}` : channel(id)
  const inputOf = (field: CredentialField) => {
    const { to } = field
    const removed = draft.removed.includes(to)
    const complaint = refused === field ? saving.error?.message : undefined
    return (
      <FieldInput
        // A file chosen for another vendor must not remain.
        key={`${draft.form} ${to}`}
        field={field}
        value={draft.values[to] ?? ''}
        saved={maskedValue(editing, draft, to)}
        needed={form.oneNeeded.includes(to)}
        removed={removed}
        complaint={complaint}
        onChange={(value) => change({ values: { ...draft.values, [to]: value } })}
        onRemove={(remove) =>
          change({ removed: remove ? [...draft.removed, to] : draft.removed.filter((one) => one !== to) })
        }
      />
    )
  }
  const offered = vendorForms
    .map((one, index) => ({ value: String(index), label: titleOf(one), provider: one.provider }))
    .filter(({ provider }) => !editing || provider === editing.provider)
  const asks = replaced ?? (editing && changesCredentials(draft, editing) ? editing : undefined)
  return (
    <form
      autoComplete="off"
      onSubmit={(event) => {
        event.preventDefault()
        if (invalidExtra) further.current?.toggleAttribute('open', true)
        else if (asks) setConfirming(true)
        else saving.mutate(true)
      }}
    >
      <Stack gap="sm">
        <FieldGroup busy={saving.isPending}>
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            {offered.length > 1 && (
              <NativeSelect
                label={t('certificates.provider')}
                value={String(draft.form)}
                onChange={({ currentTarget }) =>
                  change({
                    ...blankDraft(Number(currentTarget.value), packageName),
                    environment: draft.environment,
                    name: draft.name,
                    // Settings that all kinds of credentials of a vendor have.
                    ...(editing && { extraJson: draft.extraJson }),
                  })
                }
                data={offered.map(({ value, label }) => ({ value, label }))}
              />
            )}
            {form.hasEnvironments && !editing && (
              <NativeSelect
                label={t('app.environment')}
                value={String(draft.environment)}
                onChange={({ currentTarget }) => change({ environment: currentTarget.value === '0' ? 0 : 1 })}
                data={[
                  { value: '1', label: t('environment.1') },
                  { value: '0', label: t('environment.0') },
                ]}
              />
            )}
            {shown.filter(isRegion).map(inputOf)}
          </SimpleGrid>
          {replaced && (
            <Alert color="yellow" variant="light" title={t('certificates.taken', { name })}>
              <Text size="sm">{t('certificates.takenText')}</Text>
              <Button size="xs" variant="default" mt="xs" onClick={() => onEdit(replaced)}>
                {t('certificates.editInstead')}
              </Button>
            </Alert>
          )}
          {form.oneNeeded.length > 0 && (
            <OneNeededInput form={form} used={draft.used} onChange={(used) => change({ used })} />
          )}
          {shown.filter((field) => isInFront(field)).map(inputOf)}
          <TextInput
            label={t('certificates.name')}
            description={t('certificates.nameHint')}
            value={draft.name}
            maxLength={128}
            onChange={({ currentTarget }) => change({ name: currentTarget.value })}
          />
          <details ref={further}>
            <summary>{t('certificates.extra')}</summary>
            <Stack gap="sm" mt="sm">
              <SimpleGrid cols={{ base: 1, xs: 2 }}>
                {shown.filter((field) => !isInFront(field) && !isRegion(field)).map(inputOf)}
              </SimpleGrid>
              <JsonInput
                label={t('certificates.extraJson')}
                description={t('certificates.extraJsonHint')}
                placeholder='{"default_class": "service"}'
                value={draft.extraJson}
                autosize
                minRows={2}
                validationError={t('app.invalidJson')}
                error={invalidExtra && t('app.invalidJson')}
                onChange={(extraJson) => change({ extraJson })}
              />
            </Stack>
          </details>
        </FieldGroup>
        <Text size="sm">
          <Anchor href={docs} target="_blank">
            {t('certificates.guide')}
          </Anchor>
        </Text>
        {!refused && <ErrorAlert error={saving.error} />}
        {answer && (
          <Stack gap="xs">
            <CheckResult name={name} result={answer} />
            <Text size="sm">
              {t(editing || replaced ? 'certificates.notReplaced' : 'certificates.notSaved')}
            </Text>
          </Stack>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('app.cancel')}
          </Button>
          {answer && (
            <Button
              variant="default"
              loading={saving.isPending && saving.variables === false}
              onClick={() => saving.mutate(false)}
            >
              {t('certificates.saveAnyway')}
            </Button>
          )}
          <Button type="submit" loading={saving.isPending && saving.variables === true}>
            {t(answer ? 'certificates.checkAgain' : 'certificates.checkAndSave')}
          </Button>
        </Group>
      </Stack>
      <ConfirmDialog
        opened={confirming}
        danger
        title={t('certificates.replaceTitle', { name })}
        text={t(replaced ? 'certificates.replaceAllText' : 'certificates.replaceText', { name })}
        button={t('certificates.replaceButton')}
        busy={saving.isPending}
        onConfirm={() => saving.mutate(true)}
        onClose={() => setConfirming(false)}
      />
    </form>
  )
}
