import { publicChannelNames } from '@herald/domain'
import { Anchor, Center, Group, NativeSelect, SegmentedControl, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { readSeries } from '../../api/calls.ts'
import { pointsOf, type SeriesRange, seriesRanges } from '../../calculations/series.ts'
import { AppLink } from '../../components/app-link.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Panel } from '../../components/panel.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { SeriesChart } from './series-chart.tsx'

const HEIGHT = 240
const REFRESH_MS = { '5m': 5000, '1h': 20_000, '24h': 60_000 }

/** Devices sent and failed over time, as the server recorded them, whether or not this page was open. */
export function SeriesPanel({ appId }: { appId: string | undefined }) {
  const { t } = useTranslation()
  const labels = useLabels()
  const [range, setRange] = useState<SeriesRange>('1h')
  const [channel, setChannel] = useState('')
  const query = useQuery({
    queryKey: ['series', appId, range],
    queryFn: async () => ({ range, series: await readSeries(appId, range) }),
    refetchInterval: REFRESH_MS[range],
    placeholderData: keepPreviousData,
  })
  // After a change of the range the last one is shown until the new one has arrived.
  const shown = query.data
  const points = shown ? pointsOf(shown.series, channel) : []
  return (
    <Panel title={t(`overview.series.${shown?.range ?? range}`)}>
      <Group gap="sm" mb="sm">
        <SegmentedControl
          size="xs"
          aria-label={t('statistics.range')}
          value={range}
          onChange={(value) => setRange(value as SeriesRange)}
          data={seriesRanges.map((value) => ({ value, label: t(`overview.ranges.${value}`) }))}
        />
        <NativeSelect
          size="xs"
          aria-label={t('app.channel')}
          value={channel}
          onChange={({ currentTarget }) => setChannel(currentTarget.value)}
          data={[
            { value: '', label: t('task.total') },
            ...publicChannelNames.map((value) => ({ value, label: labels.channel(value) })),
          ]}
        />
      </Group>
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      {shown && points.some(({ sent, failed }) => sent + failed > 0) ? (
        <SeriesChart points={points} range={shown.range} height={HEIGHT} />
      ) : (
        <Center h={HEIGHT / 2}>
          <Text c="dimmed" ta="center">
            {shown ? t(`overview.seriesEmpty.${shown.range}`) : t('app.loading')}
          </Text>
        </Center>
      )}
      {appId !== undefined && (
        <Anchor component={AppLink} to="/statistics" size="sm" mt="xs" display="inline-block">
          {t('overview.longer')}
        </Anchor>
      )}
    </Panel>
  )
}
