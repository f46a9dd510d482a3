import { Alert, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { SuccessAlert } from '../../components/success-alert.tsx'

type Props = { name: string; result: { ok: boolean; problem: string | null; temporary: boolean } }

export function CheckResult({ name, result }: Props) {
  const { t } = useTranslation()
  if (result.ok) return <SuccessAlert>{t('certificates.checkOk', { name })}</SuccessAlert>
  return (
    <Alert
      role="alert"
      color={result.temporary ? 'yellow' : 'red'}
      variant="light"
      title={t(result.temporary ? 'certificates.checkUnavailable' : 'certificates.checkRejected', { name })}
    >
      <Text size="sm" className="breaks" data-from="api">
        {result.problem}
      </Text>
    </Alert>
  )
}
