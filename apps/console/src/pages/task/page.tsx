import { Stack } from '@mantine/core'
import { IconListCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useParams } from 'react-router'
import { readCounters, readFailures, readTask } from '../../api/calls.ts'
import { funnelOf } from '../../calculations/funnel.ts'
import { actionsOf } from '../../calculations/task-progress.ts'
import { BackLink } from '../../components/back-link.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { MissingRecord } from '../../components/missing-record.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Panel } from '../../components/panel.tsx'
import { requireApplication } from '../../components/require-application.tsx'
import { useAppId } from '../../session/session.ts'
import { FailureTable } from './failure-table.tsx'
import { FunnelPanel } from './funnel-panel.tsx'
import { ProgressPanel } from './progress-panel.tsx'
import { RecallAction } from './recall-action.tsx'
import { TaskActions } from './task-actions.tsx'

export const page = requireApplication(TaskPage)

/** Receipts arrive after a task has ended, so the page keeps refreshing, but less often. */
const REFRESH_MS = 1000
const ENDED_REFRESH_MS = 3000

function TaskPage() {
  const { t } = useTranslation()
  const appId = useAppId()
  const { id = '' } = useParams()
  const query = useQuery({
    queryKey: ['task', appId, id],
    queryFn: async () => {
      const taskId = /^\d+$/.test(id) ? Number(id) : Number.NaN
      const task = Number.isSafeInteger(taskId) ? await readTask(appId, taskId) : undefined
      if (!task) return null
      const [counters, failures] = await Promise.all([
        readCounters(appId, taskId),
        readFailures(appId, taskId),
      ])
      return { task, funnel: funnelOf(counters), failures }
    },
    refetchInterval: ({ state }) => (state.data?.task.finished_at ? ENDED_REFRESH_MS : REFRESH_MS),
  })
  if (query.isPending) return <Loading />
  const list = { to: '/tasks', name: t('task.back') }
  if (!query.data)
    return (
      <MissingRecord
        title={t('task.title', { id })}
        text={t('task.missing', { id })}
        icon={IconListCheck}
        list={list}
        query={query}
      />
    )
  const { task, funnel, failures } = query.data
  return (
    <Stack>
      <PageHeader
        title={task.title || t('task.title', { id })}
        lead={<BackLink to={list.to}>{list.name}</BackLink>}
      >
        {actionsOf(task).length > 0 && <TaskActions task={task} />}
        {task.sent > 0 && <RecallAction key={id} task={task} />}
      </PageHeader>
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      <ProgressPanel task={task} />
      <FunnelPanel funnel={funnel} />
      <Panel title={t('task.failures')}>
        <FailureTable failures={failures} />
      </Panel>
    </Stack>
  )
}
