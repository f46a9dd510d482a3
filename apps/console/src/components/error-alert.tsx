import { Button, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useBasicLabels } from '../i18n/basic-labels.ts'
import { WarningAlert } from './warning-alert.tsx'

type Props = { error: unknown; retry?: () => unknown }

/** Shows the translated message if there is one, and the API's English message. */
export function ErrorAlert({ error, retry }: Props) {
  const { t } = useTranslation()
  const { errorText } = useBasicLabels()
  if (!error) return null
  const { translated, original } = errorText(error)
  return (
    <WarningAlert color="red" title={t('app.requestFailed')}>
      <Stack gap="xs" align="flex-start">
        {translated && (
          <Text size="sm" className="breaks">
            {translated}
          </Text>
        )}
        {original && (
          <Text size="sm" className="breaks" lang="en" data-from="api">
            {original}
          </Text>
        )}
        {retry && (
          <Button size="xs" variant="default" onClick={() => void retry()}>
            {t('app.retry')}
          </Button>
        )}
      </Stack>
    </WarningAlert>
  )
}
