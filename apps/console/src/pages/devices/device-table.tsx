import type { DeviceView } from '@herald/client'
import { Badge, Group, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { DeviceLink } from '../../components/device-link.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'

const MAX_SHOWN_TAGS = 4

export function DeviceTable({ devices }: { devices: DeviceView[] }) {
  const { t } = useTranslation()
  const { channel, platform } = useLabels()
  return (
    <WideTable label={t('nav.devices')} minWidth={300}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('devices.guid')}</Table.Th>
          <Table.Th visibleFrom="sm">{t('devices.platform')}</Table.Th>
          <Table.Th>{t('devices.channels')}</Table.Th>
          <Table.Th visibleFrom="md">{t('devices.connection')}</Table.Th>
          <Table.Th>{t('devices.alias')}</Table.Th>
          <Table.Th visibleFrom="lg">{t('devices.tags')}</Table.Th>
          <Table.Th visibleFrom="sm">{t('devices.user')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {devices.map((device) => (
          <Table.Tr key={String(device.device_id)}>
            <Table.Td>
              <DeviceLink guid={device.device_guid} />
            </Table.Td>
            <Table.Td visibleFrom="sm">{platform(device.platform ?? 'unknown')}</Table.Td>
            <Table.Td>
              {device.bindings.map((binding) => channel(binding.channel)).join(', ') || '–'}
            </Table.Td>
            <Table.Td visibleFrom="md">
              <StatusBadge tone={device.online ? 'good' : 'over'}>
                {t(device.online ? 'devices.online' : 'devices.offline')}
              </StatusBadge>
            </Table.Td>
            <Table.Td className="breaks">{device.alias ?? '–'}</Table.Td>
            <Table.Td maw={260} visibleFrom="lg">
              <Group gap={4}>
                {device.tags.slice(0, MAX_SHOWN_TAGS).map((tag) => (
                  <Badge key={tag} variant="default" radius="sm" tt="none" fw={500}>
                    {tag}
                  </Badge>
                ))}
                {device.tags.length > MAX_SHOWN_TAGS && (
                  <Text size="xs" c="dimmed">
                    +{device.tags.length - MAX_SHOWN_TAGS}
                  </Text>
                )}
              </Group>
            </Table.Td>
            <Table.Td visibleFrom="sm">{device.user_id === null ? '–' : String(device.user_id)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
