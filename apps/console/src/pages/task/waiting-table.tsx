import type { FailureGroup } from '@herald/client'
import { Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { ReasonText } from '../../components/reason-text.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { SampleDevices } from './sample-devices.tsx'

/** Why devices wait, since when, and when they are tried next. */
export function WaitingTable({ groups }: { groups: FailureGroup[] }) {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  return (
    <WideTable label={t('task.waiting')} minWidth={300}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('app.channel')}</Table.Th>
          <Table.Th>{t('task.reason')}</Table.Th>
          <Table.Th className="number">{t('task.count')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {groups.map((group) => (
          <Table.Tr key={`${group.channel} ${group.fate} ${group.code ?? group.reason}`}>
            <Table.Td>{channel(group.channel)}</Table.Td>
            <Table.Td className="breaks">
              <ReasonText code={group.code} reason={group.reason} />
              <Text size="sm" c="dimmed">
                {group.since ? `${t('task.since')}: ${format.time(group.since)} · ` : ''}
                {t('task.nextAttempt')}: {format.time(group.next_attempt_at) || t('task.nextOpen')}
              </Text>
              <SampleDevices samples={group.samples} />
            </Table.Td>
            <Table.Td className="number">{format.number(group.count)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
