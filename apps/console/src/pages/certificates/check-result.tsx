import type { CertificateCheck } from '@herald/client'
import { Alert, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { NoteText } from '../../components/note-text.tsx'
import { ReasonText } from '../../components/reason-text.tsx'
import { SuccessAlert } from '../../components/success-alert.tsx'

export function CheckResult({ name, result }: { name: string; result: CertificateCheck }) {
  const { t } = useTranslation()
  const { ok, problem, code, temporary, simulator, warnings } = result
  const details = (
    <>
      {problem && (
        <Text size="sm" className="breaks">
          <ReasonText code={code} reason={problem} />
        </Text>
      )}
      {warnings.map((text) => (
        <Text key={text} size="sm" className="breaks">
          <NoteText>{text}</NoteText>
        </Text>
      ))}
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
