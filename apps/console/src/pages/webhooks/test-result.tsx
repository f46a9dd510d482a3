import type { WebhookTest } from '@herald/client'
import { useTranslation } from 'react-i18next'
import { NoteText } from '../../components/note-text.tsx'
import { SuccessAlert } from '../../components/success-alert.tsx'
import { WarningAlert } from '../../components/warning-alert.tsx'

export function TestResult({ result: { ok, status, error } }: { result: WebhookTest }) {
  const { t } = useTranslation()
  if (ok) return <SuccessAlert>{t('webhooks.testOk', { status })}</SuccessAlert>
  return (
    <WarningAlert color="red">
      {status === null ? t('webhooks.testSilent') : t('webhooks.testRefused', { status })}{' '}
      {error && status === null && (
        <span className="breaks">
          <NoteText>{error}</NoteText>
        </span>
      )}
    </WarningAlert>
  )
}
