import type { TaskView } from '@herald/client'
import { Alert, ColorSwatch, Group, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { barOf, hasEnded, shownState, timeLeft } from '../../calculations/task-progress.ts'
import { Panel } from '../../components/panel.tsx'
import { StatusBadge, taskTone } from '../../components/status-badge.tsx'
import { barColors, TaskBar } from '../../components/task-bar.tsx'
import { useNow } from '../../components/time-text.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useTaskRate } from './use-task-rate.ts'

type Props = { task: TaskView; readAt: number }

export function ProgressPanel({ task, readAt }: Props) {
  const { t } = useTranslation()
  const { format, taskState } = useLabels()
  const state = shownState(task)
  return (
    <Panel
      title={t('tasks.progress')}
      aside={<StatusBadge tone={taskTone(state)}>{taskState(state)}</StatusBadge>}
    >
      {task.state === 'scheduled' ? (
        <Scheduled task={task} />
      ) : (
        <Stack gap="sm">
          {(state === 'nobody' || state === 'unreachable') && (
            <Alert color="yellow" role="status">
              {t(`task.${state}`, { n: format.number(task.unreachable) })}
            </Alert>
          )}
          {task.target > 0 && (
            <>
              <TaskBar task={task} size="xl" />
              <Parts task={task} />
              <Speed task={task} readAt={readAt} />
            </>
          )}
          {task.waiting > 0 && (
            <Text size="sm">{t('task.inInboxes', { n: format.number(task.waiting) })}</Text>
          )}
          {task.target > 0 && task.unreachable > 0 && (
            <Text size="sm" c="dimmed">
              {t('task.unreachable', { n: format.number(task.unreachable) })}
            </Text>
          )}
        </Stack>
      )}
    </Panel>
  )
}

function Scheduled({ task }: { task: TaskView }) {
  const { t } = useTranslation()
  const { format, duration } = useLabels()
  const left = task.begin_at - useNow()
  return (
    <>
      <div className="figure">
        {left > 0 ? t('task.beginsIn', { time: duration(left) }) : t('task.beginsNow')}
      </div>
      <Text size="sm" c="dimmed">
        {format.time(task.begin_at)} · {t('task.resolvedLater')}
      </Text>
    </>
  )
}

/** The figures of the bar; those that are 0 are left out. */
function Parts({ task }: { task: TaskView }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  return (
    <Group component="dl" gap="xl" m={0}>
      <div>
        <Text component="dt" size="xs" c="dimmed">
          {t('task.count')}
        </Text>
        <dd className="figure" style={{ margin: 0 }}>
          {format.number(task.target)}
        </dd>
      </div>
      {barOf(task).map(({ kind, count, share }) => (
        <div key={kind} data-part={kind}>
          <Text component="dt" size="xs" c="dimmed">
            <ColorSwatch
              component="span"
              size={10}
              color={kind === 'pending' ? 'var(--mantine-color-default-border)' : cssColor(barColors[kind])}
              withShadow={false}
              mr={4}
              display="inline-block"
              aria-hidden
            />
            {t(`counter.${kind}`)}
          </Text>
          <dd className="figure" style={{ margin: 0 }}>
            {format.number(count)}{' '}
            <Text span size="xs" c="dimmed" fw={400}>
              {format.percent(share)}
            </Text>
          </dd>
        </div>
      ))}
    </Group>
  )
}

const cssColor = (color: string) => `var(--mantine-color-${color.replace('.', '-')})`

/** Rate and time left. While nothing moves there is no time left; the panel below says why. */
function Speed({ task, readAt }: Props) {
  const { t } = useTranslation()
  const { format, duration } = useLabels()
  const rate = useTaskRate(task, readAt)
  const left = timeLeft(task, rate)
  if (hasEnded(task) || left.kind === 'inboxes') {
    const seconds = (task.finished_at ?? task.begin_at) - task.begin_at
    return (
      <Text size="sm" c="dimmed">
        {t('task.took', { time: duration(Math.max(1, seconds)) })}
      </Text>
    )
  }
  return (
    // A screen reader would read a time left every second.
    <Text size="sm" data-left={left.kind} role={left.kind === 'seconds' ? undefined : 'status'}>
      {left.kind === 'seconds'
        ? t('task.left', {
            rate: rate !== undefined && rate < 1 ? '< 1' : format.number(Math.round(rate ?? 0)),
            time: duration(Math.max(1, left.seconds)),
          })
        : t(`task.leftKinds.${left.kind}`)}
    </Text>
  )
}
