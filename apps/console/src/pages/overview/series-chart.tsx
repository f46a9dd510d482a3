import '@mantine/charts/styles.css'
import { AreaChart } from '@mantine/charts'
import { useTranslation } from 'react-i18next'
import type { SeriesPoint, SeriesRange } from '../../calculations/series.ts'
import { useLabels } from '../../i18n/labels.ts'

type Props = { points: SeriesPoint[]; range: SeriesRange; height: number }

export function SeriesChart({ points, range, height }: Props) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const last = points.at(-1)
  const clock = range === '5m' ? format.clock : format.hourOnly
  return (
    <div
      role="img"
      aria-label={t('overview.seriesLabel', {
        sent: format.number(last?.sent ?? 0),
        failed: format.number(last?.failed ?? 0),
      })}
    >
      <AreaChart
        h={height}
        data={points}
        dataKey="at"
        series={[
          { name: 'sent', label: t('counter.sent'), color: 'herald.6' },
          { name: 'failed', label: t('counter.failed'), color: 'red.6' },
        ]}
        curveType="linear"
        withDots={false}
        withLegend
        legendProps={{ itemSorter: null }}
        gridAxis="x"
        tickLine="none"
        valueFormatter={format.number}
        areaChartProps={{ accessibilityLayer: false }}
        areaProps={{ isAnimationActive: false }}
        yAxisProps={{ allowDecimals: false }}
        xAxisProps={{
          type: 'number',
          scale: 'time',
          domain: ['dataMin', 'dataMax'],
          tickFormatter: clock,
          minTickGap: 48,
        }}
        // Also called without a point under the cursor.
        tooltipProps={{
          labelFormatter: (at) =>
            typeof at === 'number' ? `${clock(at)}${at === last?.at ? ` ${t('overview.notOver')}` : ''}` : '',
        }}
      />
    </div>
  )
}
