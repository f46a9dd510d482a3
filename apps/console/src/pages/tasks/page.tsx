import { Box, Button, Group, Paper, Stack, Text, TextInput } from '@mantine/core'
import { IconListCheck } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'react-router'
import { listTasks } from '../../api/calls.ts'
import { filterParams, isFiltered, readFilter, searchOf } from '../../calculations/task-filter.ts'
import { AppLink } from '../../components/app-link.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { useSkipEmptyPages } from '../../components/skip-empty-pages.ts'
import { useAppNavigate } from '../../session/application-path.ts'
import { useAppId } from '../../session/session.ts'
import { ExportAction } from './export-action.tsx'
import { FilterForm } from './filter-form.tsx'
import { TaskTable } from './task-table.tsx'

export const page = { Component: TasksPage }

const PAGE_SIZE = 25
const REFRESH_MS = 3000
/** A refresh loads all pages again, so it stops after this number. */
const MAX_REFRESHED_PAGES = 3

function TasksPage() {
  const { t } = useTranslation()
  const appId = useAppId()
  const [params, setParams] = useSearchParams()
  const filter = readFilter(params)
  const search = searchOf(filter)
  const setFilter = (changed: Partial<typeof filter>) => setParams(filterParams({ ...filter, ...changed }))
  // Rows that move under the pointer are clicked by mistake.
  const [isUsed, setUsed] = useState(false)
  const query = useInfiniteQuery({
    queryKey: ['tasks', appId, search],
    queryFn: ({ pageParam }) => listTasks(appId, { ...search, limit: PAGE_SIZE, before: pageParam }),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ next }) => (next === null ? undefined : Number(next)),
    refetchInterval: ({ state: { data } }) =>
      !isUsed && (data?.pages.length ?? 0) <= MAX_REFRESHED_PAGES ? REFRESH_MS : false,
  })
  const tasks = query.data?.pages.flatMap(({ list }) => list) ?? []
  const isSearching = useSkipEmptyPages(query, tasks)
  return (
    <Stack>
      <PageHeader title={t('nav.tasks')} lead={t('tasks.lead')}>
        <ExportAction key={JSON.stringify(search)} search={search} />
        <Button component={AppLink} to="/send">
          {t('send.title')}
        </Button>
      </PageHeader>
      <FilterForm filter={filter} onChange={setFilter}>
        <OpenTask />
      </FilterForm>
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      {(query.isPending || query.data) && (
        <Paper withBorder p="xs">
          {query.isPending || isSearching ? (
            <Loading />
          ) : tasks.length > 0 ? (
            <Box
              onPointerEnter={() => setUsed(true)}
              onPointerLeave={() => setUsed(false)}
              onFocus={() => setUsed(true)}
              onBlur={() => setUsed(false)}
            >
              <TaskTable tasks={tasks} />
              <Text size="xs" c="dimmed" mt="xs" px="xs">
                {t(isUsed ? 'tasks.held' : 'tasks.refreshed')}
              </Text>
            </Box>
          ) : isFiltered(filter) ? (
            <EmptyState icon={IconListCheck} title={t('tasks.emptyFilter')} />
          ) : filter.all ? (
            <EmptyState icon={IconListCheck} title={t('tasks.empty')} text={t('tasks.emptyMore')}>
              <Button component={AppLink} to="/send">
                {t('send.title')}
              </Button>
            </EmptyState>
          ) : (
            <EmptyState
              icon={IconListCheck}
              title={t('tasks.emptyBroadcasts')}
              text={t('tasks.emptyBroadcastsMore')}
            >
              <Button variant="default" onClick={() => setFilter({ all: '1' })}>
                {t('tasks.showAll')}
              </Button>
            </EmptyState>
          )}
        </Paper>
      )}
      <MoreButton pages={query} />
    </Stack>
  )
}

/** Opens a task by its id, which other systems store. */
function OpenTask() {
  const { t } = useTranslation()
  const navigate = useAppNavigate()
  const [id, setId] = useState('')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (id.trim() !== '') navigate(`/tasks/${encodeURIComponent(id.trim())}`)
      }}
    >
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <TextInput
          label={t('tasks.id')}
          inputMode="numeric"
          value={id}
          onChange={({ currentTarget }) => setId(currentTarget.value)}
        />
        <Button type="submit" variant="default">
          {t('tasks.open')}
        </Button>
      </Group>
    </form>
  )
}
