import '@mantine/charts/styles.css'
import { BarChart } from '@mantine/charts'
import { Stack, Table, Text } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconChartBar } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { type Funnel, type FunnelRow, shareOf } from '../../calculations/funnel.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Panel } from '../../components/panel.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { FunnelSteps } from './funnel-steps.tsx'

/** Devices targeted, sent, received and clicked, in all and by channel. */
export function FunnelPanel({ funnel }: { funnel: Funnel }) {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  const narrow = useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false })
  if (funnel.rows.length === 0)
    return (
      <Panel title={t('task.delivery')}>
        <EmptyState icon={IconChartBar} title={t('task.deliveryEmpty')} />
      </Panel>
    )
  const names = funnel.rows.filter(({ reports }) => !reports).map((row) => channel(row.channel))
  const moved = funnel.rows.reduce((all, { target }) => all + target, 0) > (funnel.steps[0]?.count ?? 0)
  return (
    <Panel title={t('task.delivery')}>
      <Stack>
        <FunnelSteps funnel={funnel} silent={format.list(names)} />
        <div role="img" aria-label={t('task.deliveryLabel')}>
          <BarChart
            h={240}
            data={funnel.rows.map((row) => ({ ...row, name: channel(row.channel) }))}
            dataKey="name"
            series={[
              { name: 'target', label: t('counter.target'), color: 'gray.5' },
              { name: 'sent', label: t('counter.sent'), color: 'herald.6' },
              { name: 'received', label: t('counter.received'), color: 'indigo.5' },
            ]}
            withLegend
            legendProps={{ itemSorter: null }}
            gridAxis="x"
            tickLine="none"
            valueFormatter={format.number}
            maxBarWidth={28}
            barChartProps={{ accessibilityLayer: false }}
            barProps={{ isAnimationActive: false }}
            yAxisProps={{ allowDecimals: false }}
            // Rotated labels all fit; horizontal ones would overlap on a narrow screen.
            xAxisProps={narrow ? { interval: 0, angle: -40, textAnchor: 'end', height: 56 } : { interval: 0 }}
          />
        </div>
        <WideTable label={t('task.delivery')} minWidth={300}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('app.channel')}</Table.Th>
              <Table.Th className="number">{t('counter.target')}</Table.Th>
              <Table.Th className="number">{t('counter.sent')}</Table.Th>
              <Table.Th className="number">{t('counter.received')}</Table.Th>
              <Table.Th className="number">{t('task.receivedShare')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {funnel.rows.map((row) => (
              <Row key={row.channel} name={channel(row.channel)} row={row} />
            ))}
          </Table.Tbody>
        </WideTable>
        {moved && (
          <Text size="xs" c="dimmed">
            {t('task.movedHint')}
          </Text>
        )}
      </Stack>
    </Panel>
  )
}

function Row({ name, row }: { name: string; row: FunnelRow }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const share = row.reports ? shareOf(row.received, row.sent) : undefined
  return (
    <Table.Tr data-channel={row.channel}>
      <Table.Th scope="row">{name}</Table.Th>
      <Table.Td className="number">{format.number(row.target)}</Table.Td>
      <Table.Td className="number">{format.number(row.sent)}</Table.Td>
      <Table.Td className="number">
        {row.reports || row.received > 0 ? format.number(row.received) : t('task.notReported')}
      </Table.Td>
      <Table.Td className="number">{share === undefined ? '–' : format.percent(share)}</Table.Td>
    </Table.Tr>
  )
}
