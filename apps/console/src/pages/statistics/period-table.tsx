import type { Stats } from '@herald/client'
import { Table } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { middleOf, statKinds } from '../../calculations/stats.ts'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'

type Props = { periods: Stats['list'][number][]; by: 'day' | 'hour' }

/** The numbers of the chart, newest first. Periods without pushes are left out. */
export function PeriodTable({ periods, by }: Props) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const used = periods.filter(({ target, unreachable }) => target + unreachable > 0).reverse()
  return (
    <WideTable label={t('statistics.numbers')} minWidth={560}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t(`statistics.${by}`)}</Table.Th>
          {statKinds.map((kind) => (
            <Table.Th key={kind} className="number">
              {t(`counter.${kind}`)}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {used.map((period) => (
          <Table.Tr key={period.at}>
            <Table.Th scope="row" className="nowrap">
              {by === 'day' ? format.day(middleOf(period.at, by)) : format.hour(period.at)}
            </Table.Th>
            {statKinds.map((kind) => (
              <Table.Td key={kind} className="number">
                {format.number(period[kind])}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
