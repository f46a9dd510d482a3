import { Alert, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Done } from '../../parts/done.tsx'

type Props = { name: string; answer: { ok: boolean; problem: string | null; temporary: boolean } }

/** What the vendor said of a certificate. */
export function CheckAnswer({ name, answer }: Props) {
  const { t } = useTranslation()
  if (answer.ok) return <Done>{t('certificates.checkOk', { name })}</Done>
  return (
    <Alert
      role="alert"
      color={answer.temporary ? 'yellow' : 'red'}
      variant="light"
      title={t(answer.temporary ? 'certificates.checkLater' : 'certificates.checkBad', { name })}
    >
      <Text size="sm" className="breaks" data-from="api">
        {answer.problem}
      </Text>
    </Alert>
  )
}
