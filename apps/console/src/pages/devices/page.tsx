import { Button, Paper, Stack } from '@mantine/core'
import { IconDevices } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link, useSearchParams } from 'react-router'
import { listDevices } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { Empty } from '../../parts/empty.tsx'
import { MoreButton } from '../../parts/more-button.tsx'
import { ofApplication } from '../../parts/of-application.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { DeviceTable } from './device-table.tsx'
import { wishOf } from './search.ts'
import { SearchForm } from './search-form.tsx'

export const page = ofApplication(DevicesPage)

const PAGE = 50

function DevicesPage() {
  const { t } = useTranslation()
  const appId = useAppId()
  const [search, setSearch] = useSearchParams()
  const wish = wishOf(search.get('by'), search.get('value'))
  const query = useInfiniteQuery({
    queryKey: ['devices', appId, wish.by, wish.value],
    queryFn: ({ pageParam }) => listDevices(appId, { ...wish.fields, limit: PAGE, after: pageParam }),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ next }) => (next === null ? undefined : Number(next)),
  })
  const devices = query.data?.pages.flatMap(({ list }) => list) ?? []
  return (
    <Stack>
      <PageHead title={t('devices.title')} lead={t('devices.lead')} />
      <SearchForm
        key={`${wish.by} ${wish.value}`}
        by={wish.by}
        value={wish.value}
        onSearch={(by, value) => setSearch(value === '' ? {} : { by, value })}
      />
      {query.isError && <Problem error={query.error} retry={query.refetch} />}
      {(query.isPending || query.data) && (
        <Paper withBorder p="xs">
          {query.isPending ? (
            <Waiting />
          ) : devices.length > 0 ? (
            <DeviceTable devices={devices} />
          ) : wish.value !== '' ? (
            <Empty icon={IconDevices} title={t('devices.empty')} />
          ) : (
            <Empty icon={IconDevices} title={t('devices.emptyAll')} text={t('devices.emptyMore')}>
              <Button component={Link} to="/be-a-device" variant="default">
                {t('nav.nativeDevice')}
              </Button>
            </Empty>
          )}
        </Paper>
      )}
      <MoreButton pages={query} />
    </Stack>
  )
}
