import type { WebhookView } from '@herald/client'
import { Badge, Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { removeWebhook, testWebhook } from '../../api/calls.ts'
import { CampaignLink } from '../../components/campaign-link.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { NoteText } from '../../components/note-text.tsx'
import { Panel } from '../../components/panel.tsx'
import { StatusBadge, type Tone } from '../../components/status-badge.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'
import { ReplayDialog } from './replay-dialog.tsx'
import { TestResult } from './test-result.tsx'

const tones: Record<WebhookView['state'], Tone> = { active: 'good', failing: 'waiting', rested: 'bad' }

type Props = { webhook: WebhookView; onEdit(): void }

export function WebhookCard({ webhook, onEdit }: Props) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const appId = useAppId()
  const queries = useQueryClient()
  const [dialog, setDialog] = useState<'remove' | 'replay'>()
  const refresh = () => queries.invalidateQueries({ queryKey: ['webhooks', appId] })
  const test = useMutation({
    mutationFn: (_url: string) => testWebhook(appId, webhook.webhook_id),
    onSettled: refresh,
  })
  // The result is about the URL that was tested.
  const isOfUrl = test.variables === webhook.url
  const removal = useMutation({
    mutationFn: () => removeWebhook(appId, webhook.webhook_id),
    onSettled: async () => {
      setDialog(undefined)
      await refresh()
    },
  })
  return (
    <Panel
      title={webhook.name}
      aside={<StatusBadge tone={tones[webhook.state]}>{t(`webhookState.${webhook.state}`)}</StatusBadge>}
    >
      <Stack gap="md">
        {/* Above all that changes while it is shown, so that the buttons stay where they are. */}
        <Group gap="xs">
          <Button variant="default" loading={test.isPending} onClick={() => test.mutate(webhook.url)}>
            {t('webhooks.test')}
          </Button>
          <Button variant="default" onClick={() => setDialog('replay')}>
            {t('webhooks.replay')}
          </Button>
          <Button variant="default" onClick={onEdit}>
            {t('webhooks.edit')}
          </Button>
          <Button variant="default" onClick={() => setDialog('remove')}>
            {t('webhooks.remove')}
          </Button>
        </Group>
        <ErrorAlert error={(isOfUrl && test.error) || removal.error} />
        {isOfUrl && test.data && <TestResult result={test.data} />}
        <StateText webhook={webhook} />
        <DescriptionList
          items={[
            [
              t('webhooks.url'),
              <span key="url" data-from="api">
                {webhook.url}
              </span>,
            ],
            [t('webhooks.lastAnswer'), <LastAnswer key="answer" webhook={webhook} />],
            [t('webhooks.backlog'), <Backlog key="backlog" webhook={webhook} />],
            [t('webhooks.sent'), format.number(webhook.sent)],
            [
              t('tasks.campaign'),
              webhook.campaign === null ? '–' : <CampaignLink key="campaign" name={webhook.campaign} />,
            ],
            [t('applications.created'), format.time(webhook.created_at)],
          ]}
        />
        <Group gap={4}>
          {webhook.events.map((event) => (
            <Badge key={event} variant="default" radius="sm" tt="none" fw={500} data-from="api">
              {event}
            </Badge>
          ))}
        </Group>
      </Stack>
      <ReplayDialog webhook={webhook} opened={dialog === 'replay'} onClose={() => setDialog(undefined)} />
      <ConfirmDialog
        opened={dialog === 'remove'}
        danger
        title={t('webhooks.removeTitle', { name: webhook.name })}
        text={t('webhooks.removeText')}
        button={t('webhooks.removeButton')}
        busy={removal.isPending}
        onConfirm={() => removal.mutate()}
        onClose={() => setDialog(undefined)}
      />
    </Panel>
  )
}

/** Why nothing is delivered, and what happens next. */
function StateText({ webhook }: { webhook: WebhookView }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  if (webhook.state === 'failing')
    return (
      <Text size="sm">
        {t('webhooks.failingSince', { since: format.time(webhook.failing_since) })}{' '}
        {webhook.next_at !== null && t('webhooks.nextTry', { time: format.time(webhook.next_at) })}
      </Text>
    )
  if (webhook.state === 'rested')
    return (
      <Text size="sm">
        {webhook.rest_reason && (
          <span className="breaks">
            <NoteText>{webhook.rest_reason}</NoteText>{' '}
          </span>
        )}
        {t('webhooks.rested')}
      </Text>
    )
  return null
}

function Backlog({ webhook: { backlog, backlog_exact, backlog_since } }: { webhook: WebhookView }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  return (
    <>
      {t('webhooks.backlogCount', { n: `${backlog_exact ? '' : '≥ '}${format.number(backlog)}` })}
      {backlog_since !== null && (
        <Text size="xs" c="dimmed">
          {t('webhooks.backlogSince', { time: format.time(backlog_since) })}
        </Text>
      )}
    </>
  )
}

function LastAnswer({ webhook }: { webhook: WebhookView }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  if (webhook.last_answer_at === null && webhook.last_error === null) return t('webhooks.noAnswer')
  return (
    <>
      {webhook.last_status !== null && `HTTP ${webhook.last_status} · `}
      {format.time(webhook.last_answer_at)}
      {webhook.last_error !== null && (
        <Text size="xs" c="dimmed" className="breaks">
          <NoteText>{webhook.last_error}</NoteText>
        </Text>
      )}
    </>
  )
}
