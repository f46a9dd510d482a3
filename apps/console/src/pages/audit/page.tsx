import { auditActions } from '@herald/domain'
import { Button, Group, NativeSelect, Paper, Stack, TextInput } from '@mantine/core'
import { IconHistory } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'react-router'
import { listAudit } from '../../api/calls.ts'
import { localTime, secondsOf } from '../../calculations/local-time.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { FilterFold } from '../../components/filter-fold.tsx'
import { Loading } from '../../components/loading.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { useSkipEmptyPages } from '../../components/skip-empty-pages.ts'
import { useTyped } from '../../components/use-typed.ts'
import { useLabels } from '../../i18n/labels.ts'
import { useCurrentSession } from '../../session/session.ts'
import { AuditTable } from './audit-table.tsx'

/** An operator who selected no application sees what concerns none. */
export const page = { Component: AuditPage }

const PAGE_SIZE = 50
const fields = ['actor', 'action', 'from', 'to'] as const
/** As in the URL: times are Unix seconds, so that a link means the same in another time zone. */
type Filter = Record<(typeof fields)[number], string>

function filterOf(params: URLSearchParams): Filter {
  const filter = Object.fromEntries(fields.map((name) => [name, params.get(name) ?? ''])) as Filter
  const time = (text: string) => (/^\d{1,10}$/.test(text) ? text : '')
  return { ...filter, from: time(filter.from), to: time(filter.to) }
}

function AuditPage() {
  const { t } = useTranslation()
  const { appId } = useCurrentSession()
  const [params, setParams] = useSearchParams()
  const filter = filterOf(params)
  const query = useInfiniteQuery({
    queryKey: ['audit', appId, filter],
    queryFn: ({ pageParam }) =>
      listAudit(appId, {
        limit: PAGE_SIZE,
        before: pageParam,
        ...(filter.from && { from: Number(filter.from) }),
        ...(filter.to && { to: Number(filter.to) }),
        ...(filter.actor && { actor: filter.actor }),
        ...(filter.action && { action: filter.action }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
  })
  const entries = query.data?.pages.flatMap(({ list }) => list) ?? []
  const isReading = useSkipEmptyPages(query, entries)
  return (
    <Stack>
      <PageHeader
        title={t('nav.audit')}
        lead={t(appId === undefined ? 'audit.installation' : 'audit.lead')}
      />
      <FilterForm
        filter={filter}
        onFilter={(changed) =>
          setParams(Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== '')))
        }
      />
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      {(query.isPending || query.data) && (
        <Paper withBorder p="xs">
          {query.isPending || isReading ? (
            <Loading />
          ) : entries.length > 0 ? (
            <AuditTable entries={entries} />
          ) : (
            <EmptyState icon={IconHistory} title={t('audit.empty')} />
          )}
        </Paper>
      )}
      {!isReading && <MoreButton pages={query} />}
    </Stack>
  )
}

function FilterForm({ filter, onFilter }: { filter: Filter; onFilter(filter: Filter): void }) {
  const { t } = useTranslation()
  const { auditAction } = useLabels()
  const { input, submit } = useTyped(shownFilter(filter))
  return (
    <FilterFold used={Object.values(filter).filter((value) => value !== '').length}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const { from, to, ...typed } = submit()
          onFilter({ ...typed, from: String(secondsOf(from) ?? ''), to: String(secondsOf(to) ?? '') })
        }}
      >
        <Group align="flex-end" gap="sm">
          <TextInput {...input('actor')} label={t('audit.actor')} />
          <NativeSelect
            {...input('action')}
            label={t('audit.action')}
            data={[
              { value: '', label: t('audit.anyAction') },
              ...auditActions.map((value) => ({ value, label: auditAction(value) })),
            ]}
          />
          <TextInput {...input('from')} type="datetime-local" label={t('audit.from')} />
          <TextInput {...input('to')} type="datetime-local" label={t('audit.to')} />
          <Button type="submit">{t('tasks.filter')}</Button>
        </Group>
      </form>
    </FilterFold>
  )
}

/** The values of the inputs. */
function shownFilter(filter: Filter): Filter {
  const shown = (seconds: string) => (seconds === '' ? '' : localTime(Number(seconds) * 1000))
  return { ...filter, from: shown(filter.from), to: shown(filter.to) }
}
