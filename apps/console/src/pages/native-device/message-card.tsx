import { Anchor, Group, Paper, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { useWords } from '../../parts/words.ts'
import type { Arrived } from './use-native-device.ts'

/** A message as the device got it: what it says is text, never markup. */
export function MessageCard({ received }: { received: Arrived }) {
  const { t } = useTranslation()
  const { format } = useWords()
  const { message, taskId, at } = received
  return (
    <Paper withBorder p="sm" component="article" data-task={taskId}>
      <Group justify="space-between" gap="xs">
        <Text fw={600} className="breaks">
          {message.title || t(message.type === 'cmd' ? 'nativeDevice.silent' : 'tasks.untitled')}
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
        {t('nativeDevice.task', { id: taskId })}
      </Anchor>
    </Paper>
  )
}
