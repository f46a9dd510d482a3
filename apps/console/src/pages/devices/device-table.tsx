import type { DeviceView } from '@herald/client'
import { Anchor, Badge, Group, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { deviceLink } from '../../parts/device-link.ts'
import { StateMark } from '../../parts/state-mark.tsx'
import { WideTable } from '../../parts/wide-table.tsx'
import { useWords } from '../../parts/words.ts'

const SHOWN_TAGS = 4

export function DeviceTable({ devices }: { devices: DeviceView[] }) {
  const { t } = useTranslation()
  const { channel, platform } = useWords()
  return (
    <WideTable label={t('devices.title')} minWidth={820}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('devices.guid')}</Table.Th>
          <Table.Th>{t('devices.platform')}</Table.Th>
          <Table.Th>{t('devices.channels')}</Table.Th>
          <Table.Th>{t('devices.connection')}</Table.Th>
          <Table.Th>{t('devices.alias')}</Table.Th>
          <Table.Th>{t('devices.tags')}</Table.Th>
          <Table.Th>{t('devices.user')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {devices.map((device) => (
          <Table.Tr key={String(device.device_id)}>
            <Table.Td>
              <Anchor component={Link} to={deviceLink(device.device_guid)} size="sm" className="breaks">
                {device.device_guid}
              </Anchor>
            </Table.Td>
            <Table.Td>{platform(device.platform ?? 'unknown')}</Table.Td>
            <Table.Td>
              {device.bindings.map((binding) => channel(binding.channel)).join(', ') || '–'}
            </Table.Td>
            <Table.Td>
              <StateMark mood={device.online ? 'good' : 'over'}>
                {t(device.online ? 'devices.online' : 'devices.offline')}
              </StateMark>
            </Table.Td>
            <Table.Td className="breaks">{device.alias ?? '–'}</Table.Td>
            <Table.Td maw={260}>
              <Group gap={4}>
                {device.tags.slice(0, SHOWN_TAGS).map((tag) => (
                  <Badge key={tag} variant="default" radius="sm" tt="none" fw={500}>
                    {tag}
                  </Badge>
                ))}
                {device.tags.length > SHOWN_TAGS && (
                  <Text size="xs" c="dimmed">
                    +{device.tags.length - SHOWN_TAGS}
                  </Text>
                )}
              </Group>
            </Table.Td>
            <Table.Td>{device.user_id === null ? '–' : String(device.user_id)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
