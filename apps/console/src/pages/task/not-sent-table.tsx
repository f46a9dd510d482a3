import { Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { MergedGroup } from '../../calculations/not-sent.ts'
import { ReasonText } from '../../components/reason-text.tsx'
import { fateTone, StatusBadge } from '../../components/status-badge.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { SampleDevices } from './sample-devices.tsx'

export function NotSentTable({ groups }: { groups: MergedGroup[] }) {
  const { t } = useTranslation()
  const { channel, fate, format } = useLabels()
  return (
    <WideTable label={t('task.notSent')} minWidth={300}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('task.reason')}</Table.Th>
          <Table.Th className="number">{t('task.count')}</Table.Th>
          <Table.Th visibleFrom="sm">{t('task.samples')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {groups.map((group) => (
          <Table.Tr
            key={`${group.channels} ${group.fate} ${group.code ?? group.reason}`}
            data-fate={group.fate}
          >
            <Table.Td className="breaks">
              <StatusBadge tone={fateTone(group.fate)}>{fate(group.fate)}</StatusBadge>{' '}
              <Text span size="sm" c="dimmed">
                {format.list(group.channels.map(channel))}
              </Text>
              <div>
                <ReasonText code={group.code} reason={group.reason} />
              </div>
            </Table.Td>
            <Table.Td className="number">{format.number(group.count)}</Table.Td>
            <Table.Td visibleFrom="sm">
              <SampleDevices samples={group.samples} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
