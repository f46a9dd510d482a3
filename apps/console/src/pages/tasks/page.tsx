import { taskStates } from '@herald/domain'
import { Button, Group, NativeSelect, Paper, Stack, TextInput } from '@mantine/core'
import { IconListCheck } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useNavigate } from 'react-router'
import { listTasks } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { Empty } from '../../parts/empty.tsx'
import { MoreButton } from '../../parts/more-button.tsx'
import { ofApplication } from '../../parts/of-application.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { useWords } from '../../parts/words.ts'
import { TaskTable } from './task-table.tsx'

export const page = ofApplication(TasksPage)

const PAGE = 25
const EVERY_MS = 3000
/** Far back, looking again would ask for every page before it. */
const MOST_LIVE_PAGES = 3

function TasksPage() {
  const { t } = useTranslation()
  const { taskState } = useWords()
  const appId = useAppId()
  const navigate = useNavigate()
  const [state, setState] = useState('')
  const [id, setId] = useState('')
  const query = useInfiniteQuery({
    queryKey: ['tasks', appId, state],
    queryFn: ({ pageParam }) => listTasks(appId, { limit: PAGE, before: pageParam, ...(state && { state }) }),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ next }) => (next === null ? undefined : Number(next)),
    refetchInterval: ({ state: { data } }) =>
      (data?.pages.length ?? 0) <= MOST_LIVE_PAGES ? EVERY_MS : false,
  })
  const tasks = query.data?.pages.flatMap(({ list }) => list) ?? []
  return (
    <Stack>
      <PageHead title={t('tasks.title')} lead={t('tasks.lead')}>
        <Button component={Link} to="/send">
          {t('tasks.sendOne')}
        </Button>
      </PageHead>
      <Group align="flex-end" gap="sm">
        <NativeSelect
          label={t('tasks.state')}
          value={state}
          onChange={({ currentTarget }) => setState(currentTarget.value)}
          data={[
            { value: '', label: t('tasks.anyState') },
            ...taskStates.map((value) => ({ value, label: taskState(value) })),
          ]}
        />
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (id.trim() !== '') navigate(`/tasks/${encodeURIComponent(id.trim())}`)
          }}
        >
          <Group align="flex-end" gap="xs" wrap="nowrap">
            <TextInput
              label={t('tasks.find')}
              inputMode="numeric"
              value={id}
              onChange={({ currentTarget }) => setId(currentTarget.value)}
            />
            <Button type="submit" variant="default">
              {t('tasks.open')}
            </Button>
          </Group>
        </form>
      </Group>
      {query.isError && <Problem error={query.error} retry={query.refetch} />}
      {(query.isPending || query.data) && (
        <Paper withBorder p="xs">
          {query.isPending ? (
            <Waiting />
          ) : tasks.length > 0 ? (
            <TaskTable tasks={tasks} />
          ) : state === '' ? (
            <Empty icon={IconListCheck} title={t('tasks.empty')} text={t('tasks.emptyMore')}>
              <Button component={Link} to="/send">
                {t('tasks.sendOne')}
              </Button>
            </Empty>
          ) : (
            <Empty icon={IconListCheck} title={t('tasks.emptyState')} />
          )}
        </Paper>
      )}
      <MoreButton pages={query} />
    </Stack>
  )
}
