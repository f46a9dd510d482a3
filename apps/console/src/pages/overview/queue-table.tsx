import { Table } from '@mantine/core'
import { IconInbox } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import type { Queue } from '../../api/records.ts'
import { Empty } from '../../parts/empty.tsx'
import { WideTable } from '../../parts/wide-table.tsx'
import { useWords } from '../../parts/words.ts'

export function QueueTable({ queues }: { queues: Queue[] }) {
  const { t } = useTranslation()
  const { channel, format, duration } = useWords()
  const least = ({ more }: Queue, count: number) => `${more ? '≥ ' : ''}${format.number(count)}`
  const busy = queues.filter(({ waiting, active, delayed }) => waiting + active + delayed > 0)
  if (busy.length === 0) return <Empty icon={IconInbox} title={t('overview.queuesEmpty')} />
  return (
    <WideTable label={t('overview.queues')} minWidth={300}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('overview.channel')}</Table.Th>
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
            <Table.Td className="number">{least(queue, queue.waiting)}</Table.Td>
            <Table.Td className="number">{least(queue, queue.active)}</Table.Td>
            <Table.Td className="number">{least(queue, queue.delayed)}</Table.Td>
            <Table.Td className="number">
              {queue.oldest_seconds === null ? '–' : duration(queue.oldest_seconds)}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
