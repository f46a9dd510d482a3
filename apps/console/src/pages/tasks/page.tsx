import { shownTaskStates } from '@herald/domain'
import { Button, Group, NativeSelect, Paper, Stack, TextInput } from '@mantine/core'
import { IconListCheck } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useNavigate, useSearchParams } from 'react-router'
import { listTasks } from '../../api/calls.ts'
import { CampaignFilter } from '../../components/campaign-filter.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { requireApplication } from '../../components/require-application.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'
import { TaskTable } from './task-table.tsx'

export const page = requireApplication(TasksPage)

const PAGE_SIZE = 25
const REFRESH_MS = 3000
/** A refresh loads all pages again, so it stops after this number. */
const MAX_REFRESHED_PAGES = 3

function TasksPage() {
  const { t } = useTranslation()
  const { taskState } = useLabels()
  const appId = useAppId()
  const navigate = useNavigate()
  const [params, setParams] = useSearchParams()
  const state = shownTaskStates.find((known) => known === params.get('state')) ?? ''
  const campaign = params.get('campaign') ?? ''
  const setFilter = (changed: { state?: string; campaign?: string }) =>
    setParams(
      Object.fromEntries(Object.entries({ state, campaign, ...changed }).filter(([, value]) => value !== '')),
    )
  const [id, setId] = useState('')
  const query = useInfiniteQuery({
    queryKey: ['tasks', appId, state, campaign],
    queryFn: ({ pageParam }) =>
      listTasks(appId, {
        limit: PAGE_SIZE,
        before: pageParam,
        ...(state && { state }),
        ...(campaign && { campaign }),
      }),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ next }) => (next === null ? undefined : Number(next)),
    refetchInterval: ({ state: { data } }) =>
      (data?.pages.length ?? 0) <= MAX_REFRESHED_PAGES ? REFRESH_MS : false,
  })
  const tasks = query.data?.pages.flatMap(({ list }) => list) ?? []
  return (
    <Stack>
      <PageHeader title={t('nav.tasks')} lead={t('tasks.lead')}>
        <Button component={Link} to="/send">
          {t('send.title')}
        </Button>
      </PageHeader>
      <Group align="flex-end" gap="sm">
        <NativeSelect
          label={t('tasks.state')}
          value={state}
          onChange={({ currentTarget }) => setFilter({ state: currentTarget.value })}
          data={[
            { value: '', label: t('tasks.anyState') },
            ...shownTaskStates.map((value) => ({ value, label: taskState(value) })),
          ]}
        />
        <CampaignFilter campaign={campaign} onChange={(campaign) => setFilter({ campaign })} />
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
      </Group>
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      {(query.isPending || query.data) && (
        <Paper withBorder p="xs">
          {query.isPending ? (
            <Loading />
          ) : tasks.length > 0 ? (
            <TaskTable tasks={tasks} />
          ) : state === '' && campaign === '' ? (
            <EmptyState icon={IconListCheck} title={t('tasks.empty')} text={t('tasks.emptyMore')}>
              <Button component={Link} to="/send">
                {t('send.title')}
              </Button>
            </EmptyState>
          ) : (
            <EmptyState icon={IconListCheck} title={t('tasks.emptyFilter')} />
          )}
        </Paper>
      )}
      <MoreButton pages={query} />
    </Stack>
  )
}
