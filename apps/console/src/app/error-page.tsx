import { Button, Center, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useRouteError } from 'react-router'

/** Shown when a page fails to load or render, usually because Herald was updated and its old files are gone. */
export function ErrorPage() {
  const { t } = useTranslation()
  const error = useRouteError()
  return (
    <Center mih="100vh">
      <Stack align="center" maw={480} p="md">
        <Text fw={600} ta="center">
          {t('app.pageError')}
        </Text>
        <Text c="dimmed" size="sm" ta="center" className="breaks" lang="en" data-from="api">
          {error instanceof Error ? error.message : String(error)}
        </Text>
        <Button onClick={() => globalThis.location.reload()}>{t('app.retry')}</Button>
      </Stack>
    </Center>
  )
}
