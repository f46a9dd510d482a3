import type { CertificateCheck } from '@herald/client'
import { Alert, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { SuccessAlert } from '../../components/success-alert.tsx'

export function CheckResult({ name, result }: { name: string; result: CertificateCheck }) {
  const { t } = useTranslation()
  const { ok, problem, temporary, simulator, warnings } = result
  const details = (
    <>
      {[problem, ...warnings].map(
        (text) =>
          text && (
            <Text key={text} size="sm" className="breaks" data-from="api">
              {text}
            </Text>
          ),
      )}
      {simulator && <Text size="sm">{t('certificates.checkSimulator')}</Text>}
    </>
  )
  if (ok)
    return (
      <SuccessAlert>
        {t('certificates.checkOk', { name })}
        {details}
      </SuccessAlert>
    )
  return (
    <Alert
      role="alert"
      color={temporary ? 'yellow' : 'red'}
      variant="light"
      title={t(temporary ? 'certificates.checkUnavailable' : 'certificates.checkRejected', { name })}
    >
      {details}
    </Alert>
  )
}
