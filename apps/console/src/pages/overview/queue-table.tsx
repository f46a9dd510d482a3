import { Table } from '@mantine/core'
import { IconInbox } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import type { Queue } from '../../api/records.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'

export function QueueTable({ queues }: { queues: Queue[] }) {
  const { t } = useTranslation()
  const { channel, format, duration } = useLabels()
  const countOf = ({ more }: Queue, count: number) => `${more ? '≥ ' : ''}${format.number(count)}`
  const busy = queues.filter(({ waiting, active, delayed }) => waiting + active + delayed > 0)
  if (busy.length === 0) return <EmptyState icon={IconInbox} title={t('overview.queuesEmpty')} />
  return (
    <WideTable label={t('overview.queues')} minWidth={300}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('app.channel')}</Table.Th>
          <Table.Th className="number">{t('overview.waiting')}</Table.Th>
          <Table.Th className="number">{t('overview.active')}</Table.Th>
          <Table.Th className="number">{t('overview.delayed')}</Table.Th>
          <Table.Th className="number">{t('overview.oldest')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {busy.map((queue) => (
          <Table.Tr key={queue.channel}>
            <Table.Td>{channel(queue.channel)}</Table.Td>
            <Table.Td className="number">{countOf(queue, queue.waiting)}</Table.Td>
            <Table.Td className="number">{countOf(queue, queue.active)}</Table.Td>
            <Table.Td className="number">{countOf(queue, queue.delayed)}</Table.Td>
            <Table.Td className="number">
              {queue.oldest_seconds === null ? '–' : duration(queue.oldest_seconds)}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
