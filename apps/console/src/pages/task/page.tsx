import { Stack } from '@mantine/core'
import { IconListCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useParams } from 'react-router'
import { readCounters, readFailures, readTask } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { funnelOf } from '../../figures/funnel.ts'
import { verbsOf } from '../../figures/task-progress.ts'
import { BackLink } from '../../parts/back-link.tsx'
import { Missing } from '../../parts/missing.tsx'
import { ofApplication } from '../../parts/of-application.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { FailureTable } from './failure-table.tsx'
import { FunnelPanel } from './funnel-panel.tsx'
import { ProgressPanel } from './progress-panel.tsx'
import { TaskVerbs } from './task-verbs.tsx'

export const page = ofApplication(TaskPage)

/** Receipts come after a task has ended, so the page goes on looking, only less often. */
const OPEN_MS = 1000
const ENDED_MS = 3000

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
    refetchInterval: ({ state }) => (state.data?.task.finished_at ? ENDED_MS : OPEN_MS),
  })
  if (query.isPending) return <Waiting />
  const list = { to: '/tasks', name: t('task.back') }
  if (!query.data)
    return (
      <Missing
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
      <PageHead
        title={task.title || t('task.title', { id })}
        lead={<BackLink to={list.to}>{list.name}</BackLink>}
      >
        {verbsOf(task).length > 0 && <TaskVerbs task={task} />}
      </PageHead>
      {query.isError && <Problem error={query.error} retry={query.refetch} />}
      <ProgressPanel task={task} />
      <FunnelPanel funnel={funnel} />
      <Panel title={t('task.failures')}>
        <FailureTable failures={failures} />
      </Panel>
    </Stack>
  )
}
