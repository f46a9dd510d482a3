import type { FailureGroup } from '@herald/client'
import { Table } from '@mantine/core'
import { IconMoodSmile } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { EmptyState } from '../../components/empty-state.tsx'
import { ReasonText } from '../../components/reason-text.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { SampleDevices } from './sample-devices.tsx'

export function FailureTable({ failures }: { failures: FailureGroup[] }) {
  const { t } = useTranslation()
  const { channel, fate, format } = useLabels()
  if (failures.length === 0) return <EmptyState icon={IconMoodSmile} title={t('task.failuresEmpty')} />
  return (
    <WideTable label={t('task.failures')} minWidth={760}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('app.channel')}</Table.Th>
          <Table.Th>{t('task.result')}</Table.Th>
          <Table.Th>{t('task.reason')}</Table.Th>
          <Table.Th className="number">{t('task.count')}</Table.Th>
          <Table.Th>{t('task.samples')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {failures.map((group) => (
          <Table.Tr key={`${group.channel} ${group.fate} ${group.code ?? group.reason}`}>
            <Table.Td>{channel(group.channel)}</Table.Td>
            <Table.Td>{fate(group.fate)}</Table.Td>
            <Table.Td className="breaks">
              <ReasonText code={group.code} reason={group.reason} />
            </Table.Td>
            <Table.Td className="number">{format.number(group.count)}</Table.Td>
            <Table.Td>
              <SampleDevices samples={group.samples} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
