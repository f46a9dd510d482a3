import type { FailureGroup } from '@herald/client'
import { Anchor, Table } from '@mantine/core'
import { IconMoodSmile } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { deviceLink } from '../../parts/device-link.ts'
import { Empty } from '../../parts/empty.tsx'
import { WideTable } from '../../parts/wide-table.tsx'
import { useWords } from '../../parts/words.ts'

const SHOWN_SAMPLES = 3

export function FailureTable({ failures }: { failures: FailureGroup[] }) {
  const { t } = useTranslation()
  const { channel, fate, format } = useWords()
  if (failures.length === 0) return <Empty icon={IconMoodSmile} title={t('task.failuresEmpty')} />
  return (
    <WideTable label={t('task.failures')} minWidth={760}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('task.channel')}</Table.Th>
          <Table.Th>{t('task.fate')}</Table.Th>
          <Table.Th>{t('task.reason')}</Table.Th>
          <Table.Th className="number">{t('task.count')}</Table.Th>
          <Table.Th>{t('task.samples')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {failures.map((group) => (
          <Table.Tr key={`${group.channel} ${group.fate} ${group.reason}`}>
            <Table.Td>{channel(group.channel)}</Table.Td>
            <Table.Td>{fate(group.fate)}</Table.Td>
            <Table.Td className="breaks" data-from="api">
              {group.reason}
            </Table.Td>
            <Table.Td className="number">{format.number(group.count)}</Table.Td>
            <Table.Td>
              {group.samples.slice(0, SHOWN_SAMPLES).map(({ device_id, device_guid }) =>
                device_guid === null ? (
                  <div key={String(device_id)}>{String(device_id)}</div>
                ) : (
                  <Anchor
                    key={String(device_id)}
                    component={Link}
                    to={deviceLink(device_guid)}
                    size="sm"
                    display="block"
                    className="breaks"
                  >
                    {device_guid}
                  </Anchor>
                ),
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
