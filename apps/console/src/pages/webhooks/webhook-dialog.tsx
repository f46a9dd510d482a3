import type { WebhookView } from '@herald/client'
import { type EventName, eventNames } from '@herald/domain'
import { Checkbox, Modal, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { putWebhook } from '../../api/calls.ts'
import { DialogActions } from '../../components/dialog-actions.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'

type Props = {
  editing: 'new' | WebhookView | undefined
  /** `secret` is set if a new one was made. */
  onSaved(name: string, secret: string | undefined): unknown
  onClose(): void
}

/** Neither a click beside it nor Escape closes it, because what was typed would be lost. */
export function WebhookDialog({ editing, onSaved, onClose }: Props) {
  const { t } = useTranslation()
  return (
    <Modal
      opened={editing !== undefined}
      onClose={onClose}
      title={
        editing === 'new' || !editing ? t('webhooks.add') : t('webhooks.editTitle', { name: editing.name })
      }
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      {editing && (
        <WebhookForm webhook={editing === 'new' ? undefined : editing} onSaved={onSaved} onClose={onClose} />
      )}
    </Modal>
  )
}

type FormProps = Omit<Props, 'editing'> & { webhook: WebhookView | undefined }

function WebhookForm({ webhook, onSaved, onClose }: FormProps) {
  const { t } = useTranslation()
  const appId = useAppId()
  const { event: eventText } = useLabels()
  const [name, setName] = useState(webhook?.name ?? '')
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [campaign, setCampaign] = useState(webhook?.campaign ?? '')
  const [events, setEvents] = useState<EventName[]>(webhook?.events ?? ['task.finished', 'task.cancelled'])
  const [rotate, setRotate] = useState(false)
  const [tried, setTried] = useState(false)
  const saving = useMutation({
    mutationFn: () =>
      putWebhook(appId, {
        ...(webhook && { webhook_id: webhook.webhook_id }),
        name: name.trim(),
        url: url.trim(),
        events,
        ...(campaign.trim() && { campaign: campaign.trim() }),
        ...(rotate && { rotate_secret: true }),
      }),
    onSuccess: ({ secret }) => onSaved(name.trim(), secret ?? undefined),
  })
  return (
    <form
      autoComplete="off"
      onSubmit={(event) => {
        event.preventDefault()
        setTried(true)
        if (events.length > 0) saving.mutate()
      }}
    >
      <Stack gap="sm">
        <TextInput
          label={t('webhooks.name')}
          value={name}
          maxLength={64}
          required
          withAsterisk={false}
          data-autofocus
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <TextInput
          type="url"
          label={t('webhooks.url')}
          description={t('webhooks.urlHint')}
          placeholder="https://example.com/herald"
          value={url}
          required
          withAsterisk={false}
          onChange={({ currentTarget }) => setUrl(currentTarget.value)}
        />
        <TextInput
          label={t('webhooks.campaign')}
          description={t('webhooks.campaignHint')}
          value={campaign}
          maxLength={64}
          onChange={({ currentTarget }) => setCampaign(currentTarget.value)}
        />
        <Checkbox.Group
          label={t('webhooks.events')}
          description={t('webhooks.deviceEvents')}
          value={events}
          onChange={(selected) => setEvents(selected as EventName[])}
          error={tried && events.length === 0 && t('webhooks.eventsMissing')}
        >
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" my="xs">
            {eventNames.map((event) => (
              <Checkbox
                key={event}
                value={event}
                label={<span data-from="api">{event}</span>}
                description={eventText(event)}
              />
            ))}
          </SimpleGrid>
        </Checkbox.Group>
        {webhook && (
          <Checkbox
            checked={rotate}
            label={t('webhooks.rotate')}
            description={t('webhooks.rotateHint')}
            onChange={({ currentTarget }) => setRotate(currentTarget.checked)}
          />
        )}
        <ErrorAlert error={saving.error} />
        <DialogActions label={t('app.save')} busy={saving.isPending} onClose={onClose} />
      </Stack>
    </form>
  )
}
