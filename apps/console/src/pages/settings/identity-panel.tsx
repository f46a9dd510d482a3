import type { Identity, NewIdentity } from '@herald/client'
import { Button, Group, NativeSelect, SimpleGrid, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { putIdentity, removeIdentity } from '../../api/calls.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { FieldGroup } from '../../components/field-group.tsx'
import { Panel } from '../../components/panel.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { SuccessAlert } from '../../components/success-alert.tsx'
import { useAppId } from '../../session/session.ts'

type Form = {
  issuer: string
  audience: string
  userClaim: string
  keys: 'url' | 'pem'
  url: string
  pem: string
}

const formOf = (identity: Identity | null): Form => ({
  issuer: identity?.issuer ?? '',
  audience: identity?.audience ?? '',
  userClaim: identity?.user_claim ?? 'sub',
  keys: identity?.public_key ? 'pem' : 'url',
  url: identity?.jwks_url ?? '',
  pem: identity?.public_key ?? '',
})

const recordOf = ({ issuer, audience, userClaim, keys, url, pem }: Form): NewIdentity => ({
  issuer: issuer.trim(),
  audience: audience.trim(),
  ...(userClaim.trim() && { user_claim: userClaim.trim() }),
  ...(keys === 'url' ? { jwks_url: url.trim() } : { public_key: pem.trim() }),
})

/** How sign-in tokens of the application's own system are checked. */
export function IdentityPanel({ identity }: { identity: Identity | null }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const queries = useQueryClient()
  const [edits, setEdits] = useState<Partial<Form>>({})
  const [removing, setRemoving] = useState(false)
  const form = { ...formOf(identity), ...edits }
  const show = (now: Identity | null) => {
    queries.setQueryData(['identity', appId], now)
    setEdits({})
  }
  const saving = useMutation({ mutationFn: () => putIdentity(appId, recordOf(form)), onSuccess: show })
  const removal = useMutation({
    mutationFn: () => removeIdentity(appId),
    onSuccess: () => {
      saving.reset()
      show(null)
    },
    onSettled: () => setRemoving(false),
  })
  const set = (edit: Partial<Form>) => {
    saving.reset()
    setEdits((before) => ({ ...before, ...edit }))
  }
  const textInput = (
    name: 'issuer' | 'audience' | 'userClaim' | 'url',
    label: string,
    more: { description?: string; placeholder?: string; required?: boolean } = {},
  ) => (
    <TextInput
      label={label}
      value={form[name]}
      withAsterisk={false}
      onChange={({ currentTarget }) => set({ [name]: currentTarget.value })}
      {...more}
    />
  )
  return (
    <Panel
      title={t('identity.title')}
      aside={
        <StatusBadge tone={identity ? 'good' : 'over'}>
          {t(identity ? 'identity.on' : 'identity.off')}
        </StatusBadge>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          saving.mutate()
        }}
      >
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            {t('identity.hint')}
          </Text>
          <FieldGroup busy={saving.isPending}>
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              {textInput('issuer', t('identity.issuer'), {
                placeholder: 'https://id.example.com',
                required: true,
              })}
              {textInput('audience', t('identity.audience'), { required: true })}
              {textInput('userClaim', t('identity.userClaim'), { placeholder: 'sub' })}
              <NativeSelect
                label={t('identity.keys')}
                value={form.keys}
                onChange={({ currentTarget }) => set({ keys: currentTarget.value === 'pem' ? 'pem' : 'url' })}
                data={[
                  { value: 'url', label: t('identity.keysUrl') },
                  { value: 'pem', label: t('identity.keysPem') },
                ]}
              />
            </SimpleGrid>
            {form.keys === 'url' ? (
              textInput('url', t('identity.url'), {
                description: t('identity.urlHint'),
                placeholder: 'https://id.example.com/.well-known/jwks.json',
                required: true,
              })
            ) : (
              <Textarea
                label={t('identity.pem')}
                value={form.pem}
                required
                withAsterisk={false}
                autosize
                minRows={4}
                classNames={{ input: 'code' }}
                onChange={({ currentTarget }) => set({ pem: currentTarget.value })}
              />
            )}
          </FieldGroup>
          <ErrorAlert error={saving.error ?? removal.error} />
          {saving.isSuccess && <SuccessAlert>{t('app.saved')}</SuccessAlert>}
          <Group justify="flex-end">
            {identity && (
              <Button variant="default" onClick={() => setRemoving(true)}>
                {t('identity.remove')}
              </Button>
            )}
            <Button type="submit" variant="default" loading={saving.isPending}>
              {t('app.save')}
            </Button>
          </Group>
        </Stack>
      </form>
      <ConfirmDialog
        opened={removing}
        danger
        title={t('identity.removeTitle')}
        text={t('identity.removeText')}
        button={t('identity.remove')}
        busy={removal.isPending}
        onConfirm={() => removal.mutate()}
        onClose={() => setRemoving(false)}
      />
    </Panel>
  )
}
