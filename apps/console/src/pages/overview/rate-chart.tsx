import '@mantine/charts/styles.css'
import { AreaChart } from '@mantine/charts'
import { Center, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { isIdle, type Rate } from '../../calculations/rates.ts'
import { useLabels } from '../../i18n/labels.ts'

const HEIGHT = 220

export function RateChart({ rates }: { rates: Rate[] }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const now = rates.length < 2 ? undefined : rates.at(-1)
  // A line needs two points.
  if (!now || isIdle(rates))
    return (
      <Center h={HEIGHT}>
        <Text c="dimmed" ta="center">
          {t(now ? 'overview.rateIdle' : 'overview.rateWaiting')}
        </Text>
      </Center>
    )
  const shown = {
    sent: format.number(now.sent),
    received: format.number(now.received),
    failed: format.number(now.failed),
  }
  return (
    <div role="img" aria-label={t('overview.rateLabel', shown)}>
      <AreaChart
        h={HEIGHT}
        // The axis begins and ends at whole seconds; a point with a fraction would be outside of it.
        data={rates.map((rate) => ({ ...rate, at: Math.round(rate.at) }))}
        dataKey="at"
        series={[
          { name: 'sent', label: t('counter.sent'), color: 'herald.6' },
          { name: 'received', label: t('counter.received'), color: 'indigo.5' },
          { name: 'failed', label: t('counter.failed'), color: 'red.6' },
        ]}
        curveType="monotone"
        withDots={false}
        withLegend
        legendProps={{ itemSorter: null }}
        gridAxis="x"
        tickLine="none"
        valueFormatter={format.number}
        areaChartProps={{ accessibilityLayer: false }}
        areaProps={{ isAnimationActive: false }}
        // A time axis, so that a late sample shows as a gap.
        xAxisProps={{
          type: 'number',
          scale: 'time',
          domain: ['dataMin', 'dataMax'],
          tickFormatter: format.clock,
          minTickGap: 48,
        }}
        // Also called without a point under the cursor.
        tooltipProps={{ labelFormatter: (at) => (typeof at === 'number' ? format.clock(at) : '') }}
      />
    </div>
  )
}
