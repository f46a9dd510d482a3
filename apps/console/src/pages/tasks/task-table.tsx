import type { TaskView } from '@herald/client'
import { Anchor, Progress, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { StatusBadge, taskTone } from '../../components/status-badge.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'

export function TaskTable({ tasks }: { tasks: TaskView[] }) {
  const { t } = useTranslation()
  const { format, taskState } = useLabels()
  return (
    <WideTable label={t('nav.tasks')} minWidth={860}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('tasks.message')}</Table.Th>
          <Table.Th>{t('tasks.state')}</Table.Th>
          <Table.Th w={150}>{t('tasks.progress')}</Table.Th>
          <Table.Th className="number">{t('counter.target')}</Table.Th>
          <Table.Th className="number">{t('counter.sent')}</Table.Th>
          <Table.Th className="number">{t('counter.received')}</Table.Th>
          <Table.Th className="number">{t('counter.clicked')}</Table.Th>
          <Table.Th className="number">{t('counter.failed')}</Table.Th>
          <Table.Th>{t('tasks.created')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {tasks.map((task) => {
          const id = String(task.task_id)
          return (
            <Table.Tr key={id}>
              <Table.Td maw={280}>
                <Anchor
                  component={Link}
                  to={`/tasks/${id}`}
                  size="sm"
                  className="breaks"
                  lineClamp={2}
                  data-from={task.title ? 'api' : undefined}
                >
                  {task.title || t('tasks.untitled')}
                </Anchor>
                <Text size="xs" c="dimmed" className="breaks" data-from="api">
                  {task.campaign === null ? id : `${id} · ${task.campaign}`}
                </Text>
              </Table.Td>
              <Table.Td>
                <StatusBadge tone={taskTone(task.state)}>{taskState(task.state)}</StatusBadge>
                {task.waiting > 0 && (
                  <Text size="xs" c="dimmed">
                    {t('tasks.waiting', { n: format.number(task.waiting) })}
                  </Text>
                )}
              </Table.Td>
              <Table.Td>
                <Progress
                  value={task.progress * 100}
                  aria-label={`${t('tasks.progress')}: ${format.percent(task.progress)}`}
                />
                <Text size="xs" c="dimmed" aria-hidden>
                  {format.percent(task.progress)}
                </Text>
              </Table.Td>
              <Table.Td className="number">{format.number(task.target)}</Table.Td>
              <Table.Td className="number">{format.number(task.sent)}</Table.Td>
              <Table.Td className="number">{format.number(task.received)}</Table.Td>
              <Table.Td className="number">{format.number(task.clicked)}</Table.Td>
              <Table.Td className="number">{format.number(task.failed)}</Table.Td>
              <Table.Td className="nowrap">{format.time(task.created_at)}</Table.Td>
            </Table.Tr>
          )
        })}
      </Table.Tbody>
    </WideTable>
  )
}
