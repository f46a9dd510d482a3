import type { Stats } from '@herald/client'
import { publicChannelNames } from '@herald/domain'
import { Group, NativeSelect, Paper, SegmentedControl, SimpleGrid, Stack, Text } from '@mantine/core'
import { IconChartHistogram } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'react-router'
import { readStats } from '../../api/calls.ts'
import { fillPeriods, rangeOf, receivedShareOf, statRanges } from '../../calculations/stats.ts'
import { CampaignFilter } from '../../components/campaign-filter.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Panel } from '../../components/panel.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'
import { ChannelTable } from './channel-table.tsx'
import { PeriodChart } from './period-chart.tsx'
import { PeriodTable } from './period-table.tsx'

export const page = { Component: StatisticsPage }

const REFRESH_MS = 60_000

function StatisticsPage() {
  const { t } = useTranslation()
  const labels = useLabels()
  const appId = useAppId()
  const [params, setParams] = useSearchParams()
  const range = statRanges.find((known) => known === params.get('range')) ?? '24h'
  const channel = publicChannelNames.find((known) => known === params.get('channel')) ?? ''
  const campaign = params.get('campaign') ?? ''
  const setFilter = (changed: { range?: string; channel?: string; campaign?: string }) =>
    setParams(
      Object.fromEntries(
        Object.entries({ range, channel, campaign, ...changed }).filter(([, value]) => value !== ''),
      ),
    )
  const query = useQuery({
    queryKey: ['stats', appId, range, channel, campaign],
    queryFn: async () => {
      const asked = rangeOf(range, Date.now())
      const stats = await readStats(appId, {
        ...asked,
        ...(channel && { channel }),
        ...(campaign && { campaign }),
      })
      return { stats, by: asked.by, periods: fillPeriods(asked, stats.list) }
    },
    refetchInterval: REFRESH_MS,
  })
  const { data } = query
  return (
    <Stack>
      <PageHeader title={t('nav.statistics')} lead={t('statistics.lead')} />
      <Group align="flex-end" gap="sm">
        <SegmentedControl
          aria-label={t('statistics.range')}
          value={range}
          onChange={(range) => setFilter({ range })}
          data={statRanges.map((value) => ({ value, label: t(`statistics.ranges.${value}`) }))}
        />
        <NativeSelect
          label={t('app.channel')}
          value={channel}
          onChange={({ currentTarget }) => setFilter({ channel: currentTarget.value })}
          data={[
            { value: '', label: t('task.total') },
            ...publicChannelNames.map((value) => ({ value, label: labels.channel(value) })),
          ]}
        />
        <CampaignFilter campaign={campaign} onChange={(campaign) => setFilter({ campaign })} />
      </Group>
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      {query.isPending && <Loading />}
      {data && isEmpty(data.stats) && (
        <Paper withBorder>
          <EmptyState
            icon={IconChartHistogram}
            title={t('statistics.empty')}
            text={t('statistics.emptyMore')}
          />
        </Paper>
      )}
      {data && !isEmpty(data.stats) && (
        <>
          <Totals stats={data.stats} />
          <Panel title={t(`statistics.by.${data.by}`)}>
            <PeriodChart periods={data.periods} by={data.by} />
          </Panel>
          <Panel title={t('statistics.byChannel')}>
            <ChannelTable channels={data.stats.channels} />
          </Panel>
          <Panel title={t('statistics.numbers')}>
            <PeriodTable periods={data.periods} by={data.by} />
          </Panel>
        </>
      )}
    </Stack>
  )
}

const isEmpty = ({ total }: Stats) => total.target + total.unreachable === 0

function Totals({ stats }: { stats: Stats }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const share = receivedShareOf(stats.channels)
  const details = {
    received:
      share === undefined ? undefined : t('statistics.receivedShare', { share: format.percent(share) }),
  }
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm">
      {(['target', 'sent', 'received', 'clicked', 'failed', 'unreachable'] as const).map((kind) => (
        <Paper key={kind} withBorder p="sm" data-total={kind}>
          <Text size="xs" c="dimmed">
            {t(`counter.${kind}`)}
          </Text>
          <div className="figure">{format.number(stats.total[kind])}</div>
          {kind === 'received' && details.received && (
            <Text size="xs" c="dimmed">
              {details.received}
            </Text>
          )}
        </Paper>
      ))}
    </SimpleGrid>
  )
}
