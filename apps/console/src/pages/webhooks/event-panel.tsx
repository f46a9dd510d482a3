import { eventNames } from '@herald/domain'
import { SimpleGrid, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Panel } from '../../components/panel.tsx'
import { useLabels } from '../../i18n/labels.ts'

/** What each event means. */
export function EventPanel() {
  const { t } = useTranslation()
  const { event } = useLabels()
  return (
    <Panel title={t('webhooks.events')}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {t('webhooks.deviceEvents')}
        </Text>
        <SimpleGrid component="dl" cols={{ base: 1, sm: 2 }} spacing="xs" m={0}>
          {eventNames.map((name) => (
            <div key={name}>
              <Text component="dt" size="sm" className="code" data-from="api">
                {name}
              </Text>
              <Text component="dd" m={0} size="sm" c="dimmed">
                {event(name)}
              </Text>
            </div>
          ))}
        </SimpleGrid>
      </Stack>
    </Panel>
  )
}
