import { Stack } from '@mantine/core'
import { IconListCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useParams } from 'react-router'
import { readChannels, readFailures, readTask } from '../../api/calls.ts'
import { funnelOf } from '../../calculations/funnel.ts'
import { notSentOf, waitsOf } from '../../calculations/not-sent.ts'
import { BackLink } from '../../components/back-link.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { MissingRecord } from '../../components/missing-record.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Panel } from '../../components/panel.tsx'
import { useAppId } from '../../session/session.ts'
import { AgainActions } from './again-actions.tsx'
import { DownloadAction } from './download-action.tsx'
import { FindPanel } from './find-panel.tsx'
import { FunnelPanel } from './funnel-panel.tsx'
import { NotSentTable } from './not-sent-table.tsx'
import { ProgressPanel } from './progress-panel.tsx'
import { RecallAction } from './recall-action.tsx'
import { RequestPanel } from './request-panel.tsx'
import { TaskActions } from './task-actions.tsx'
import { WaitingTable } from './waiting-table.tsx'

export const page = { Component: TaskPage }

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
      return { task, funnel: funnelOf(await readChannels(appId, taskId)) }
    },
    refetchInterval: ({ state }) => (state.data?.task.finished_at ? SLOW_REFRESH_MS : REFRESH_MS),
  })
  const reasons = useQuery({
    // Read again at once when the state changes.
    queryKey: ['task', appId, id, 'reasons', query.data?.task.state],
    // Not those of another task, to which a link has led from here.
    placeholderData: (data, previous) => (previous?.queryKey[2] === id ? data : undefined),
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
  const waiting = waitsOf(reasons.data ?? [])
  const notSent = notSentOf(reasons.data ?? [])
  return (
    <Stack>
      <PageHeader
        title={task.title || t('task.title', { id })}
        lead={<BackLink to={list.to}>{list.name}</BackLink>}
      >
        {/* From the right edge: only what is leftmost may come and go, or buttons would move while they are pressed. */}
        <TaskActions key={`actions ${id}`} task={task} />
        <AgainActions key={`again ${id}`} appId={appId} taskId={Number(task.task_id)} />
        <RecallAction key={id} task={task} />
        <DownloadAction key={`download ${id}`} taskId={Number(task.task_id)} disabled={task.target === 0} />
      </PageHeader>
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      <ProgressPanel task={task} readAt={query.dataUpdatedAt} />
      {waiting.length > 0 && (
        <Panel title={t('task.waiting')}>
          <WaitingTable groups={waiting} />
        </Panel>
      )}
      {reasons.isError && <ErrorAlert error={reasons.error} retry={reasons.refetch} />}
      {notSent.length > 0 && (
        <Panel title={t('task.notSent')}>
          <NotSentTable groups={notSent} />
        </Panel>
      )}
      {funnel.rows.length > 0 && <FunnelPanel funnel={funnel} />}
      <RequestPanel key={`request ${id}`} appId={appId} task={task} />
      {task.target + task.unreachable > 0 && <FindPanel key={`find ${id}`} taskId={Number(task.task_id)} />}
    </Stack>
  )
}
