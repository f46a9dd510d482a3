import { Button, Center, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useRouteError } from 'react-router'

/** A page that could not be drawn or loaded: usually Herald was replaced by a newer version meanwhile. */
export function Broken() {
  const { t } = useTranslation()
  const error = useRouteError()
  return (
    <Center mih="100vh">
      <Stack align="center" maw={480} p="md">
        <Text fw={600} ta="center">
          {t('app.broken')}
        </Text>
        <Text c="dimmed" size="sm" ta="center" className="breaks" lang="en" data-from="api">
          {error instanceof Error ? error.message : String(error)}
        </Text>
        <Button onClick={() => globalThis.location.reload()}>{t('app.again')}</Button>
      </Stack>
    </Center>
  )
}
