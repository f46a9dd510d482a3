import { Anchor, Button, Paper, Stack } from '@mantine/core'
import { IconArrowLeft, IconListCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link, useParams } from 'react-router'
import { readCounters, readFailures, readTask } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { funnelOf } from '../../figures/funnel.ts'
import { Empty } from '../../parts/empty.tsx'
import { Needed } from '../../parts/needed.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { FailureTable } from './failure-table.tsx'
import { FunnelPanel } from './funnel-panel.tsx'
import { ProgressPanel } from './progress-panel.tsx'
import { TaskVerbs } from './task-verbs.tsx'

export const page = {
  Component: () => (
    <Needed>
      <TaskPage />
    </Needed>
  ),
}

/** Receipts come after a task has ended, so the page goes on looking, only less often. */
const OPEN_MS = 1000
const ENDED_MS = 3000

function TaskPage() {
  const { t } = useTranslation()
  const appId = useAppId()
  const id = Number(useParams().id)
  const query = useQuery({
    queryKey: ['task', appId, id],
    queryFn: async () => {
      const task = await readTask(appId, id)
      if (!task) return null
      const [counters, failures] = await Promise.all([readCounters(appId, id), readFailures(appId, id)])
      return { task, funnel: funnelOf(counters), failures }
    },
    refetchInterval: ({ state }) => (state.data?.task.finished_at ? ENDED_MS : OPEN_MS),
  })
  if (query.isPending) return <Waiting />
  const back = (
    <Anchor component={Link} to="/tasks" size="sm">
      <IconArrowLeft size={14} aria-hidden /> {t('task.back')}
    </Anchor>
  )
  if (!query.data)
    return (
      <>
        <PageHead title={t('task.title', { id })} lead={back} />
        {query.isError ? (
          <Problem error={query.error} retry={query.refetch} />
        ) : (
          <Paper withBorder>
            <Empty icon={IconListCheck} title={t('task.missing', { id })}>
              <Button component={Link} to="/tasks" variant="default">
                {t('task.back')}
              </Button>
            </Empty>
          </Paper>
        )}
      </>
    )
  const { task, funnel, failures } = query.data
  return (
    <Stack>
      <PageHead title={task.title || t('task.title', { id })} lead={back}>
        <TaskVerbs task={task} />
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
