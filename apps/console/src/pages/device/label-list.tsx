import type { DeviceView } from '@herald/client'
import { Badge, Group, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'

/** All tags and attributes of a device. */
export function LabelList({ device }: { device: DeviceView }) {
  const { t } = useTranslation()
  const attributes = Object.entries(device.attributes ?? {})
  return (
    <Stack gap="sm" mt="md">
      <Labels title={t('devices.tags')} labels={device.tags} />
      {attributes.length > 0 && (
        <Labels
          title={t('device.attributeList')}
          labels={attributes.map(([name, value]) => `${name} = ${value}`)}
        />
      )}
    </Stack>
  )
}

function Labels({ title, labels }: { title: string; labels: readonly string[] }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {title}
      </Text>
      <Group gap={4}>
        {labels.length === 0 && '–'}
        {labels.map((label) => (
          <Badge key={label} variant="default" radius="sm" tt="none" fw={500} maw="100%" data-from="api">
            {label}
          </Badge>
        ))}
      </Group>
    </div>
  )
}
