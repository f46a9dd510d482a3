import { HeraldError } from '@herald/client'
import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'react-router'
import { type Person, readPaths } from '../../api/calls.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { Panel } from '../../components/panel.tsx'
import { parseSearch, personKinds } from '../../components/search.ts'
import { SearchForm } from '../../components/search-form.tsx'
import { useAppId } from '../../session/session.ts'
import { DevicePathView } from './device-path-view.tsx'

const REFRESH_MS = 3000

/** Answers "did this person get it, and if not why". The search is in the URL, so that the answer can be shared. */
export function FindPanel({ taskId }: { taskId: number }) {
  const { t } = useTranslation()
  const [params, setParams] = useSearchParams()
  const { by, value, fields } = parseSearch(personKinds, params.get('by'), params.get('value'))
  return (
    <Panel title={t('task.find')}>
      <Stack gap="sm">
        <SearchForm
          kinds={personKinds}
          by={by}
          value={value}
          onSearch={(by, value) => setParams(value === '' ? {} : { by, value }, { preventScrollReset: true })}
        />
        {value === '' ? (
          <Text size="sm" c="dimmed">
            {t('task.findHint')}
          </Text>
        ) : (
          <Paths taskId={taskId} person={fields as Person} />
        )}
      </Stack>
    </Panel>
  )
}

function Paths({ taskId, person }: { taskId: number; person: Person }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const query = useQuery({
    queryKey: ['task', appId, 'paths', taskId, person],
    queryFn: () => readPaths(appId, taskId, person),
    // An unknown device stays unknown; after other errors the page comes back by itself.
    refetchInterval: ({ state: { error } }) =>
      error instanceof HeraldError && error.status === 404 ? false : REFRESH_MS,
    retry: false,
  })
  if (query.isPending) return <Loading />
  if (!query.data) return <ErrorAlert error={query.error} retry={query.refetch} />
  return (
    <Stack gap="sm">
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      {query.data.length === 0 && (
        <Text size="sm" role="status">
          {t('task.findNone')}
        </Text>
      )}
      {query.data.map((device) => (
        <DevicePathView key={String(device.device_id)} device={device} />
      ))}
    </Stack>
  )
}
