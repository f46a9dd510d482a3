import type { WebhookView } from '@herald/client'
import { Modal, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { replayWebhook } from '../../api/calls.ts'
import { localTime, secondsOf } from '../../calculations/local-time.ts'
import { DialogActions } from '../../components/dialog-actions.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { useAppId } from '../../session/session.ts'

type Props = { webhook: WebhookView; opened: boolean; onClose(): void }

/** Sends the events since a time once more. */
export function ReplayDialog({ webhook, opened, onClose }: Props) {
  const { t } = useTranslation()
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('webhooks.replayTitle', { name: webhook.name })}
      centered
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      {/* Mounted with the dialog, so that it begins with a time of today. */}
      <ReplayForm webhook={webhook} onClose={onClose} />
    </Modal>
  )
}

function ReplayForm({ webhook, onClose }: Omit<Props, 'opened'>) {
  const { t } = useTranslation()
  const appId = useAppId()
  const queries = useQueryClient()
  const [from, setFrom] = useState(() => localTime(Date.now() - 3_600_000))
  const seconds = secondsOf(from)
  const replaying = useMutation({
    mutationFn: (seconds: number) => replayWebhook(appId, webhook.webhook_id, seconds),
    onSuccess: async () => {
      onClose()
      await queries.invalidateQueries({ queryKey: ['webhooks', appId] })
    },
  })
  return (
    <Stack>
      <Text size="sm">{t('webhooks.replayText')}</Text>
      <TextInput
        type="datetime-local"
        label={t('webhooks.replayFrom')}
        value={from}
        onChange={({ currentTarget }) => setFrom(currentTarget.value)}
      />
      <ErrorAlert error={replaying.error} />
      <DialogActions
        label={t('webhooks.replay')}
        busy={replaying.isPending}
        disabled={seconds === undefined}
        focus="back"
        onConfirm={() => seconds !== undefined && replaying.mutate(seconds)}
        onClose={onClose}
      />
    </Stack>
  )
}
