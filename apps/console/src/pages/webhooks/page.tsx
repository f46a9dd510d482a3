import type { WebhookView } from '@herald/client'
import { Button, Paper, Stack } from '@mantine/core'
import { IconWebhook } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { listWebhooks } from '../../api/calls.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { SecretDialog } from '../../components/secret-dialog.tsx'
import { useAppId } from '../../session/session.ts'
import { EventPanel } from './event-panel.tsx'
import { WebhookCard } from './webhook-card.tsx'
import { WebhookDialog } from './webhook-dialog.tsx'

export const page = { Component: WebhooksPage }

const REFRESH_MS = 5000

function WebhooksPage() {
  const { t } = useTranslation()
  const appId = useAppId()
  const queries = useQueryClient()
  /** `new`, or the webhook that is edited. */
  const [editing, setEditing] = useState<'new' | WebhookView>()
  const [secret, setSecret] = useState<{ name: string; value: string }>()
  const query = useQuery({
    queryKey: ['webhooks', appId],
    queryFn: () => listWebhooks(appId),
    refetchInterval: REFRESH_MS,
  })
  const webhooks = query.data ?? []
  return (
    <Stack>
      <PageHeader title={t('nav.webhooks')} lead={t('webhooks.lead')}>
        <Button onClick={() => setEditing('new')}>{t('webhooks.add')}</Button>
      </PageHeader>
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      {query.isPending && <Loading />}
      {query.data?.length === 0 && (
        <Paper withBorder>
          <EmptyState icon={IconWebhook} title={t('webhooks.empty')} text={t('webhooks.emptyMore')} />
        </Paper>
      )}
      {webhooks.map((webhook) => (
        <WebhookCard key={String(webhook.webhook_id)} webhook={webhook} onEdit={() => setEditing(webhook)} />
      ))}
      <EventPanel />
      <WebhookDialog
        editing={editing}
        onSaved={async (name, value) => {
          setEditing(undefined)
          if (value) setSecret({ name, value })
          await queries.invalidateQueries({ queryKey: ['webhooks', appId] })
        }}
        onClose={() => setEditing(undefined)}
      />
      <SecretDialog
        secret={
          secret && {
            text: t('webhooks.secretText', { name: secret.name }),
            values: [[t('webhooks.secret'), secret.value]],
          }
        }
        onClose={() => setSecret(undefined)}
      />
    </Stack>
  )
}
