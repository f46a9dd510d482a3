import type { DeviceView } from '@herald/client'
import { Table } from '@mantine/core'
import { IconPlugConnectedX } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { shorten } from '../../calculations/format.ts'
import { CopyText } from '../../components/copy-text.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'

export function BindingTable({ bindings }: Pick<DeviceView, 'bindings'>) {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  if (bindings.length === 0) return <EmptyState icon={IconPlugConnectedX} title={t('device.bindingsEmpty')} />
  return (
    <WideTable label={t('device.bindings')} minWidth={560}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('app.channel')}</Table.Th>
          <Table.Th>{t('app.environment')}</Table.Th>
          <Table.Th>{t('device.token')}</Table.Th>
          <Table.Th>{t('device.registered')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {bindings.map((binding) => (
          <Table.Tr key={binding.channel}>
            <Table.Td>{channel(binding.channel)}</Table.Td>
            <Table.Td>
              {[t(`environment.${binding.environment}`), binding.region].filter(Boolean).join(' · ')}
            </Table.Td>
            <Table.Td>
              <CopyText value={binding.device_token} shown={shorten(binding.device_token, 8)} />
            </Table.Td>
            <Table.Td className="nowrap">{format.time(binding.registered_at)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
