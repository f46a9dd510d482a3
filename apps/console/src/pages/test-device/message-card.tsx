import { Anchor, Group, Paper, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { useLabels } from '../../i18n/labels.ts'
import type { ReceivedMessage } from './use-test-device.ts'

export function MessageCard({ received }: { received: ReceivedMessage }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const { message, taskId, at } = received
  return (
    <Paper withBorder p="sm" component="article" data-task={taskId}>
      <Group justify="space-between" gap="xs">
        <Text fw={600} className="breaks">
          {message.title || t(message.type === 'cmd' ? 'testDevice.passThrough' : 'tasks.untitled')}
        </Text>
        <Text size="xs" c="dimmed">
          {format.clock(at)}
        </Text>
      </Group>
      {(message.big_text || message.body) && (
        <Text size="sm" className="prewrap">
          {message.big_text || message.body}
        </Text>
      )}
      <Anchor component={Link} to={`/tasks/${taskId}`} size="xs">
        {t('task.title', { id: taskId })}
      </Anchor>
    </Paper>
  )
}
