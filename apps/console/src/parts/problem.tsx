import { Alert, Button, Stack, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'

type Props = { error: unknown; retry?: () => unknown }

/** What went wrong in the API's own sentence. */
export function Problem({ error, retry }: Props) {
  const { t } = useTranslation()
  if (!error) return null
  return (
    <Alert
      role="alert"
      color="red"
      variant="light"
      title={t('app.failed')}
      icon={<IconAlertTriangle size={18} aria-hidden />}
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm" className="breaks">
          {error instanceof Error ? error.message : String(error)}
        </Text>
        {retry && (
          <Button size="xs" variant="default" onClick={() => void retry()}>
            {t('app.again')}
          </Button>
        )}
      </Stack>
    </Alert>
  )
}
