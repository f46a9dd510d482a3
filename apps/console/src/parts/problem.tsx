import { Alert, Button, Stack, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { useWords } from './words.ts'

type Props = { error: unknown; retry?: () => unknown }

/** What went wrong, in the words of the language as far as there are any, else in the API's own sentence. */
export function Problem({ error, retry }: Props) {
  const { t } = useTranslation()
  const { refusal } = useWords()
  if (!error) return null
  const { sentence, original } = refusal(error)
  return (
    <Alert
      role="alert"
      color="red"
      variant="light"
      title={t('app.failed')}
      icon={<IconAlertTriangle size={18} aria-hidden />}
    >
      <Stack gap="xs" align="flex-start">
        {sentence && (
          <Text size="sm" className="breaks">
            {sentence}
          </Text>
        )}
        {original && (
          <Text size="sm" className="breaks" lang="en" data-from="api">
            {original}
          </Text>
        )}
        {retry && (
          <Button size="xs" variant="default" onClick={() => void retry()}>
            {t('app.again')}
          </Button>
        )}
      </Stack>
    </Alert>
  )
}
