import type { WebhookTest } from '@herald/client'
import { Alert } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { NoteText } from '../../components/note-text.tsx'
import { SuccessAlert } from '../../components/success-alert.tsx'

export function TestResult({ result: { ok, status, error } }: { result: WebhookTest }) {
  const { t } = useTranslation()
  if (ok) return <SuccessAlert>{t('webhooks.testOk', { status })}</SuccessAlert>
  return (
    <Alert role="alert" color="red" variant="light" icon={<IconAlertTriangle size={18} aria-hidden />}>
      {status === null ? t('webhooks.testSilent') : t('webhooks.testRefused', { status })}{' '}
      {error && status === null && (
        <span className="breaks">
          <NoteText>{error}</NoteText>
        </span>
      )}
    </Alert>
  )
}
