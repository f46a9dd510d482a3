import type { TaskView } from '@herald/client'
import { Group, Progress, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { doneOf, hasEnded, isPaused, timeLeft } from '../../figures/task-progress.ts'
import { CopyText } from '../../parts/copy-text.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Panel } from '../../parts/panel.tsx'
import { moodOfTask, StateMark } from '../../parts/state-mark.tsx'
import { useWords } from '../../parts/words.ts'

const outcomes = [
  'target',
  'sent',
  'received',
  'pending',
  'failed',
  'expired',
  'cancelled',
  'unreachable',
] as const

export function ProgressPanel({ task }: { task: TaskView }) {
  const { t } = useTranslation()
  const { format, taskState, duration } = useWords()
  const left = timeLeft(task)
  const eta = {
    done: () => t('task.etaDone'),
    paused: () => t('task.etaPaused'),
    unknown: () => t('task.etaUnknown'),
    seconds: () => duration(left.kind === 'seconds' ? left.seconds : 0),
  }[left.kind]()
  return (
    <Panel
      title={t('task.progress')}
      aside={<StateMark mood={moodOfTask(task.state)}>{taskState(task.state)}</StateMark>}
    >
      <Stack gap="md">
        <div>
          <Progress.Root size="xl">
            <Progress.Section
              value={task.progress * 100}
              animated={!hasEnded(task) && !isPaused(task)}
              aria-label={t('task.progress')}
            />
          </Progress.Root>
          <Group justify="space-between" mt={4}>
            <Text size="sm">
              {t('task.done', { done: format.number(doneOf(task)), target: format.number(task.target) })}
            </Text>
            <Text size="sm">{format.percent(task.progress)}</Text>
          </Group>
        </div>
        <Facts
          facts={[
            [t('task.rate'), t('task.perSecond', { n: format.number(task.rate) })],
            [t('task.eta'), eta],
            ...outcomes.map((kind): [string, string] => [t(`counter.${kind}`), format.number(task[kind])]),
            [t('task.created'), format.time(task.created_at)],
            [t('task.begins'), format.time(task.begin_at)],
            [t('task.finished'), format.time(task.finished_at) || '–'],
            [t('task.priority'), t(`send.${task.priority}`)],
            [
              t('task.speed'),
              task.speed === null
                ? t('task.unlimited')
                : t('task.perSecond', { n: format.number(task.speed) }),
            ],
            [t('tasks.task'), <CopyText key="id" value={String(task.task_id)} />],
            ...(task.request_id === null ? [] : [[t('task.requestId'), task.request_id] as [string, string]]),
          ]}
        />
      </Stack>
    </Panel>
  )
}
