import type { TaskView } from '@herald/client'
import { Anchor, Box, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { barOf, shownState } from '../../calculations/task-progress.ts'
import { AppLink } from '../../components/app-link.tsx'
import { StatusBadge, taskTone } from '../../components/status-badge.tsx'
import { TaskBar } from '../../components/task-bar.tsx'
import { TimeText } from '../../components/time-text.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'

export function TaskTable({ tasks }: { tasks: TaskView[] }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  return (
    <WideTable label={t('nav.tasks')} minWidth={300}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('tasks.message')}</Table.Th>
          <Table.Th>{t('tasks.state')}</Table.Th>
          <Table.Th className="number" visibleFrom="xs">
            {t('counter.target')}
          </Table.Th>
          <Table.Th className="number" visibleFrom="sm">
            {t('counter.sent')}
          </Table.Th>
          <Table.Th className="number" visibleFrom="lg">
            {t('tasks.received')}
          </Table.Th>
          <Table.Th className="number" visibleFrom="lg">
            {t('counter.clicked')}
          </Table.Th>
          <Table.Th className="number" visibleFrom="md">
            {t('counter.failed')}
          </Table.Th>
          <Table.Th visibleFrom="md">{t('tasks.created')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {tasks.map((task) => (
          <Table.Tr key={String(task.task_id)}>
            <Table.Td maw={280}>
              <Title task={task} />
              <Text size="xs" c="dimmed" hiddenFrom="md">
                <TimeText at={task.created_at} />
              </Text>
            </Table.Td>
            <Table.Td w={170}>
              <State task={task} />
            </Table.Td>
            <Table.Td className="number" visibleFrom="xs">
              {format.number(task.target)}
            </Table.Td>
            <Table.Td className="number" visibleFrom="sm">
              {format.number(task.sent)}
            </Table.Td>
            <Table.Td className="number" visibleFrom="lg">
              {format.number(task.received)}
            </Table.Td>
            <Table.Td className="number" visibleFrom="lg">
              {format.number(task.clicked)}
            </Table.Td>
            <Table.Td className="number" visibleFrom="md">
              {format.number(task.failed)}
            </Table.Td>
            <Table.Td visibleFrom="md">
              <TimeText at={task.created_at} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}

function Title({ task }: { task: TaskView }) {
  const { t } = useTranslation()
  const id = String(task.task_id)
  return (
    <>
      <Anchor
        component={AppLink}
        to={`/tasks/${id}`}
        size="sm"
        className="breaks"
        lineClamp={2}
        data-from={task.title ? 'api' : undefined}
      >
        {task.title || t('tasks.untitled')}
      </Anchor>
      <Text size="xs" c="dimmed" className="breaks" data-from="api">
        {[id, task.campaign, task.actor].filter(Boolean).join(' · ')}
      </Text>
    </>
  )
}

function State({ task }: { task: TaskView }) {
  const { t } = useTranslation()
  const { format, taskState } = useLabels()
  const state = shownState(task)
  const parts = barOf(task)
  const undone = parts.find(({ kind }) => kind === 'pending')
  return (
    <div data-state={state}>
      <StatusBadge tone={taskTone(state)}>{taskState(state)}</StatusBadge>
      {parts.length > 0 && (
        <Box mt={4}>
          <TaskBar task={task} />
        </Box>
      )}
      <Text size="xs" c="dimmed">
        {task.state === 'scheduled' ? (
          <TimeText at={task.begin_at} />
        ) : task.waiting > 0 ? (
          t('tasks.waiting', { n: format.number(task.waiting) })
        ) : undone ? (
          t('tasks.pending', { n: format.number(undone.count) })
        ) : null}
      </Text>
    </div>
  )
}
