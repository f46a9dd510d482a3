import { parseVerbatim } from '@herald/domain'
import { Anchor, Code, Group, Paper, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { AppLink } from '../../components/app-link.tsx'
import { useLabels } from '../../i18n/labels.ts'
import type { ReceivedMessage } from './test-device-store.ts'

export function MessageCard({ received }: { received: ReceivedMessage }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const { message, taskId, at, text } = received
  const picture = /^https:\/\/.+\.(jpe?g|png)(\?|$)/i.test(message.attachment_url ?? '')
  return (
    <Paper withBorder p="sm" component="article" data-task={taskId}>
      <Stack gap={6}>
        <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
          <Text fw={600} className="breaks" data-from="api">
            {message.title || t(message.type === 'cmd' ? 'testDevice.passThrough' : 'tasks.untitled')}
          </Text>
          <Text size="xs" c="dimmed">
            {format.clock(at)}
          </Text>
        </Group>
        {message.body && (
          <Text size="sm" className="prewrap" data-from="api">
            {message.body}
          </Text>
        )}
        {message.big_text && (
          <Text size="sm" className="prewrap" c={message.body ? 'dimmed' : undefined} data-from="api">
            {message.big_text}
          </Text>
        )}
        {picture && (
          <img className="received-picture" src={message.attachment_url} alt={t('send.previewImage')} />
        )}
        {message.attachment_url && !picture && (
          <Text size="xs" className="breaks" data-from="api">
            {message.attachment_url}
          </Text>
        )}
        {message.url && <Text size="xs">{t('send.previewUrl', { url: message.url })}</Text>}
        {message.badge && <Text size="xs">{t('send.previewBadge', { n: message.badge })}</Text>}
        {message.ext && (
          <Code block className="received-json" data-from="api">
            {JSON.stringify((parseVerbatim(text) as { message: { ext: unknown } }).message.ext, null, 2)}
          </Code>
        )}
        <details>
          <summary>{t('testDevice.frame')}</summary>
          <Code block className="received-json" data-from="api">
            {JSON.stringify(parseVerbatim(text), null, 2)}
          </Code>
        </details>
        <Anchor component={AppLink} to={`/tasks/${taskId}`} size="xs">
          {t('task.title', { id: taskId })}
        </Anchor>
      </Stack>
    </Paper>
  )
}
