import { Table, Text } from '@mantine/core'
import { IconInbox } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import type { Queue } from '../../api/records.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'

/** Devices that are not sent to yet, and what they wait for. */
export function QueueTable({ queues }: { queues: Queue[] }) {
  const { t } = useTranslation()
  const { channel, format, duration } = useLabels()
  const busy = queues.filter(({ causes }) => causes.length > 0)
  if (busy.length === 0) return <EmptyState icon={IconInbox} title={t('overview.queuesEmpty')} />
  return (
    <WideTable label={t('overview.queues')} minWidth={280}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('app.channel')}</Table.Th>
          <Table.Th>{t('overview.cause')}</Table.Th>
          <Table.Th className="number">{t('task.count')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {busy.flatMap((queue) =>
          queue.causes.map(({ cause, devices, batches }, at) => (
            <Table.Tr key={`${queue.channel} ${cause}`} data-cause={cause}>
              <Table.Td>{at === 0 && channel(queue.channel)}</Table.Td>
              <Table.Td>
                {t(`overview.causes.${cause}`)}
                {cause === 'waiting' && queue.oldest_seconds !== null && (
                  <Text size="xs" c="dimmed">
                    {t('overview.oldest', { age: duration(queue.oldest_seconds) })}
                  </Text>
                )}
              </Table.Td>
              <Table.Td className="number">
                {queue.more ? '≥ ' : ''}
                {format.number(devices)}
                <Text size="xs" c="dimmed">
                  {t('overview.batches', { count: batches, n: format.number(batches) })}
                </Text>
              </Table.Td>
            </Table.Tr>
          )),
        )}
      </Table.Tbody>
    </WideTable>
  )
}
