import type { Stats } from '@herald/client'
import { Stack, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { reportsArrival } from '../../calculations/funnel.ts'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'

const kinds = ['target', 'sent', 'received', 'clicked', 'failed'] as const

export function ChannelTable({ channels }: { channels: Stats['channels'] }) {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  const used = channels.filter(({ target }) => target > 0).sort((a, b) => b.target - a.target)
  return (
    <Stack gap="xs">
      <WideTable label={t('statistics.byChannel')} minWidth={480}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('app.channel')}</Table.Th>
            {kinds.map((kind) => (
              <Table.Th key={kind} className="number">
                {t(`counter.${kind}`)}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {used.map((row) => (
            <Table.Tr key={row.channel} data-channel={row.channel}>
              <Table.Th scope="row">{channel(row.channel)}</Table.Th>
              {kinds.map((kind) => (
                <Table.Td key={kind} className="number">
                  {kind === 'received' && row.received === 0 && !reportsArrival(row.channel)
                    ? t('task.notReported')
                    : format.number(row[kind])}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </WideTable>
      <Text size="xs" c="dimmed">
        {t('statistics.moved')}
      </Text>
    </Stack>
  )
}
