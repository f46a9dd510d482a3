import type { FailureGroup } from '@herald/client'
import { Stack } from '@mantine/core'
import { IconListCheck } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
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
import { DownloadAction } from './download-action.tsx'
import { FailureTable } from './failure-table.tsx'
import { FindPanel } from './find-panel.tsx'
import { FunnelPanel } from './funnel-panel.tsx'
import { ProgressPanel } from './progress-panel.tsx'
import { RecallAction } from './recall-action.tsx'
import { TaskActions } from './task-actions.tsx'
import { WaitingTable } from './waiting-table.tsx'

export const page = requireApplication(TaskPage)

const REFRESH_MS = 1000
/** Receipts arrive after a task has ended, so the page keeps refreshing, but less often. */
const SLOW_REFRESH_MS = 3000

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
      return { task, funnel: funnelOf(await readCounters(appId, taskId), task) }
    },
    refetchInterval: ({ state }) => (state.data?.task.finished_at ? SLOW_REFRESH_MS : REFRESH_MS),
  })
  const reasons = useQuery({
    // Read again at once when the state changes.
    queryKey: ['task', appId, id, 'reasons', query.data?.task.state],
    placeholderData: keepPreviousData,
    queryFn: () => readFailures(appId, Number(id)),
    enabled: Boolean(query.data),
    // Reads every open batch of the task.
    refetchInterval: SLOW_REFRESH_MS,
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
  const { task, funnel } = query.data
  const { waiting, failures } = partsOf(reasons.data ?? [])
  return (
    <Stack>
      <PageHeader
        title={task.title || t('task.title', { id })}
        lead={<BackLink to={list.to}>{list.name}</BackLink>}
      >
        {actionsOf(task).length > 0 && <TaskActions task={task} />}
        {task.sent > 0 && <RecallAction key={id} task={task} />}
        {task.target > 0 && <DownloadAction key={`download ${id}`} taskId={Number(task.task_id)} />}
      </PageHeader>
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      <ProgressPanel task={task} />
      {waiting.length > 0 && (
        <Panel title={t('task.waiting')}>
          <WaitingTable groups={waiting} />
        </Panel>
      )}
      <FunnelPanel funnel={funnel} />
      <FindPanel key={`find ${id}`} taskId={Number(task.task_id)} />
      <Panel title={t('task.failures')}>
        {reasons.isError && <ErrorAlert error={reasons.error} retry={reasons.refetch} />}
        {reasons.data && <FailureTable failures={failures} />}
      </Panel>
    </Stack>
  )
}

/** Devices that wait are not failures. */
function partsOf(groups: FailureGroup[]) {
  const waits = ({ fate }: FailureGroup) => fate === 'waiting' || fate === 'held'
  return { waiting: groups.filter(waits), failures: groups.filter((group) => !waits(group)) }
}
