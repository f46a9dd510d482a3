import '@mantine/charts/styles.css'
import { BarChart } from '@mantine/charts'
import { Stack, Table, Text } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconChartBar } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { type Funnel, type FunnelRow, receivedShare } from '../../figures/funnel.ts'
import { Empty } from '../../parts/empty.tsx'
import { Panel } from '../../parts/panel.tsx'
import { WideTable } from '../../parts/wide-table.tsx'
import { useWords } from '../../parts/words.ts'

/** How many of the targets were sent to, and how many received it, by channel. */
export function FunnelPanel({ funnel }: { funnel: Funnel }) {
  const { t } = useTranslation()
  const { channel, format } = useWords()
  const narrow = useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false })
  if (funnel.rows.length === 0)
    return (
      <Panel title={t('task.funnel')}>
        <Empty icon={IconChartBar} title={t('task.funnelEmpty')} />
      </Panel>
    )
  return (
    <Panel title={t('task.funnel')}>
      <Stack>
        <div role="img" aria-label={t('task.funnelLabel')}>
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
            // Slanted names all find room; level ones would leave every second channel without one.
            xAxisProps={narrow ? { interval: 0, angle: -40, textAnchor: 'end', height: 56 } : { interval: 0 }}
          />
        </div>
        <WideTable label={t('task.funnel')} minWidth={300}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('task.channel')}</Table.Th>
              <Table.Th className="number">{t('counter.target')}</Table.Th>
              <Table.Th className="number">{t('counter.sent')}</Table.Th>
              <Table.Th className="number">{t('counter.received')}</Table.Th>
              <Table.Th className="number">{t('task.share')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {funnel.rows.map((row) => (
              <Row key={row.channel} name={channel(row.channel)} row={row} />
            ))}
          </Table.Tbody>
          <Table.Tfoot>
            <Row name={t('task.total')} row={funnel.total} />
          </Table.Tfoot>
        </WideTable>
        {funnel.rows.some(({ channel }) => channel === 'apns' || channel === 'fcm') && (
          <Text size="xs" c="dimmed">
            {t('task.shareHint')}
          </Text>
        )}
      </Stack>
    </Panel>
  )
}

function Row({ name, row }: { name: string; row: FunnelRow }) {
  const { format } = useWords()
  const share = receivedShare(row)
  return (
    <Table.Tr data-channel={row.channel || 'total'}>
      <Table.Th scope="row">{name}</Table.Th>
      <Table.Td className="number">{format.number(row.target)}</Table.Td>
      <Table.Td className="number">{format.number(row.sent)}</Table.Td>
      <Table.Td className="number">{format.number(row.received)}</Table.Td>
      <Table.Td className="number">{share === undefined ? '–' : format.percent(share)}</Table.Td>
    </Table.Tr>
  )
}
