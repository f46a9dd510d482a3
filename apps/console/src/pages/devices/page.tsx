import { Button, Center, Group, NativeSelect, Paper, Stack, TextInput } from '@mantine/core'
import { IconDevices, IconSearch } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useSearchParams } from 'react-router'
import { listDevices } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { Empty } from '../../parts/empty.tsx'
import { Needed } from '../../parts/needed.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { DeviceTable } from './device-table.tsx'
import { type SearchKind, searchKinds, wishOf } from './search.ts'

export const page = {
  Component: () => (
    <Needed>
      <DevicesPage />
    </Needed>
  ),
}

const PAGE = 50

function DevicesPage() {
  const { t } = useTranslation()
  const appId = useAppId()
  const [search, setSearch] = useSearchParams()
  const wish = wishOf(search.get('by'), search.get('value'))
  const [by, setBy] = useState<SearchKind>(wish.by)
  const [value, setValue] = useState(wish.value)
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
      <form
        onSubmit={(event) => {
          event.preventDefault()
          setSearch(value.trim() === '' ? {} : { by, value: value.trim() })
        }}
      >
        <Group align="flex-end" gap="sm">
          <NativeSelect
            label={t('devices.by')}
            value={by}
            onChange={({ currentTarget }) => setBy(currentTarget.value as SearchKind)}
            data={searchKinds.map((kind) => ({ value: kind, label: t(`devices.${kind}`) }))}
          />
          <TextInput
            className="grow"
            miw={180}
            maw={420}
            label={t('devices.value')}
            value={value}
            onChange={({ currentTarget }) => setValue(currentTarget.value)}
          />
          <Button type="submit" leftSection={<IconSearch size={16} aria-hidden />}>
            {t('devices.search')}
          </Button>
        </Group>
      </form>
      {query.isError && <Problem error={query.error} retry={query.refetch} />}
      {!query.isError && (
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
      {query.hasNextPage && (
        <Center>
          <Button
            variant="default"
            loading={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {t('app.more')}
          </Button>
        </Center>
      )}
    </Stack>
  )
}
