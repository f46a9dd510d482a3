import type { Stats } from '@herald/client'
import '@mantine/charts/styles.css'
import { BarChart } from '@mantine/charts'
import { useTranslation } from 'react-i18next'
import { middleOf } from '../../calculations/stats.ts'
import { useLabels } from '../../i18n/labels.ts'

type Props = { periods: Stats['list'][number][]; by: 'day' | 'hour' }

export function PeriodChart({ periods, by }: Props) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const name = by === 'day' ? format.day : format.hour
  return (
    <div role="img" aria-label={t('statistics.chartLabel')}>
      <BarChart
        h={260}
        data={periods.map((period) => ({ ...period, name: middleOf(period.at, by) }))}
        dataKey="name"
        series={[
          { name: 'sent', label: t('counter.sent'), color: 'herald.6' },
          { name: 'received', label: t('counter.received'), color: 'indigo.5' },
          { name: 'clicked', label: t('counter.clicked'), color: 'grape.5' },
          { name: 'failed', label: t('counter.failed'), color: 'red.6' },
        ]}
        withLegend
        legendProps={{ itemSorter: null }}
        gridAxis="x"
        tickLine="none"
        valueFormatter={format.number}
        maxBarWidth={14}
        barChartProps={{ accessibilityLayer: false }}
        barProps={{ isAnimationActive: false }}
        yAxisProps={{ allowDecimals: false }}
        xAxisProps={{ tickFormatter: by === 'day' ? format.date : format.hourOnly, minTickGap: 16 }}
        tooltipProps={{ labelFormatter: (at) => (typeof at === 'number' ? name(at) : '') }}
      />
    </div>
  )
}
