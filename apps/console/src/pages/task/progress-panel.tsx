import type { TaskView } from '@herald/client'
import { Group, Progress, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { doneOf, hasEnded, isPaused, timeLeft } from '../../calculations/task-progress.ts'
import { CampaignLink } from '../../components/campaign-link.tsx'
import { CopyText } from '../../components/copy-text.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { Panel } from '../../components/panel.tsx'
import { StatusBadge, taskTone } from '../../components/status-badge.tsx'
import { useLabels } from '../../i18n/labels.ts'

const outcomes = [
  'target',
  'sent',
  'received',
  'clicked',
  'pending',
  'failed',
  'expired',
  'cancelled',
  'unreachable',
] as const

export function ProgressPanel({ task }: { task: TaskView }) {
  const { t } = useTranslation()
  const { format, taskState, duration } = useLabels()
  const left = timeLeft(task)
  const eta = {
    done: () => t('task.etaDone'),
    paused: () => t('task.etaPaused'),
    unknown: () => t('task.etaUnknown'),
    seconds: () => duration(left.kind === 'seconds' ? left.seconds : 0),
  }[left.kind]()
  return (
    <Panel
      title={t('tasks.progress')}
      aside={<StatusBadge tone={taskTone(task.state)}>{taskState(task.state)}</StatusBadge>}
    >
      <Stack gap="md">
        <div>
          <Progress.Root size="xl">
            <Progress.Section
              value={task.progress * 100}
              animated={!hasEnded(task) && !isPaused(task)}
              aria-label={t('tasks.progress')}
            />
          </Progress.Root>
          <Group justify="space-between" mt={4}>
            <Text size="sm">
              {t('task.done', { done: format.number(doneOf(task)), target: format.number(task.target) })}
            </Text>
            <Text size="sm">{format.percent(task.progress)}</Text>
          </Group>
          {task.waiting > 0 && (
            <Text size="sm">{t('task.inInboxes', { n: format.number(task.waiting) })}</Text>
          )}
        </div>
        <DescriptionList
          items={[
            [t('task.rate'), t('app.perSecond', { n: format.number(task.rate) })],
            [t('task.eta'), eta],
            ...outcomes.map((kind): [string, string] => [t(`counter.${kind}`), format.number(task[kind])]),
            [t('tasks.created'), format.time(task.created_at)],
            [t('task.begins'), format.time(task.begin_at)],
            [t('task.finished'), format.time(task.finished_at) || '–'],
            [t('send.priority'), t(`send.${task.priority}`)],
            [
              t('task.speed'),
              task.speed === null
                ? t('task.unlimited')
                : t('app.perSecond', { n: format.number(task.speed) }),
            ],
            ...(task.campaign === null
              ? []
              : [
                  [t('tasks.campaign'), <CampaignLink key="campaign" name={task.campaign} />] as [
                    string,
                    ReactNode,
                  ],
                ]),
            [t('tasks.id'), <CopyText key="id" value={String(task.task_id)} />],
            ...(task.request_id === null ? [] : [[t('send.requestId'), task.request_id] as [string, string]]),
          ]}
        />
      </Stack>
    </Panel>
  )
}
