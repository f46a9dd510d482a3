import { Button, Paper, Stack } from '@mantine/core'
import { IconDevices } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'react-router'
import { listDevices } from '../../api/calls.ts'
import { AppLink } from '../../components/app-link.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { parseSearch, searchKinds } from '../../components/search.ts'
import { SearchForm } from '../../components/search-form.tsx'
import { useAppId } from '../../session/session.ts'
import { DeviceCount } from './device-count.tsx'
import { DeviceTable } from './device-table.tsx'

export const page = { Component: DevicesPage }

const PAGE_SIZE = 50

function DevicesPage() {
  const { t } = useTranslation()
  const appId = useAppId()
  const [params, setParams] = useSearchParams()
  const search = parseSearch(searchKinds, params.get('by'), params.get('value'))
  const query = useInfiniteQuery({
    queryKey: ['devices', appId, search.by, search.value],
    queryFn: ({ pageParam }) => listDevices(appId, { ...search.fields, limit: PAGE_SIZE, after: pageParam }),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ next }) => (next === null ? undefined : Number(next)),
  })
  const devices = query.data?.pages.flatMap(({ list }) => list) ?? []
  return (
    <Stack>
      <PageHeader title={t('nav.devices')} lead={t('devices.lead')} />
      <SearchForm
        kinds={searchKinds}
        by={search.by}
        value={search.value}
        onSearch={(by, value) => setParams(value === '' ? {} : { by, value })}
      />
      {query.data && devices.length > 0 && (
        <DeviceCount search={search} shown={devices.length} hasMore={query.hasNextPage} />
      )}
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      {(query.isPending || query.data) && (
        <Paper withBorder p="xs">
          {query.isPending ? (
            <Loading />
          ) : devices.length > 0 ? (
            <DeviceTable devices={devices} />
          ) : search.value !== '' ? (
            <EmptyState icon={IconDevices} title={t('devices.empty')} text={t('devices.exact')} />
          ) : (
            <EmptyState icon={IconDevices} title={t('devices.emptyAll')} text={t('devices.emptyMore')}>
              <Button component={AppLink} to="/test-device" variant="default">
                {t('nav.testDevice')}
              </Button>
            </EmptyState>
          )}
        </Paper>
      )}
      <MoreButton pages={query} />
    </Stack>
  )
}
