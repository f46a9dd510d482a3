import type { CertificateView } from '@herald/client'
import { cardOf, channelOfPublicName, type VendorChannel } from '@herald/domain'
import { Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { quotaOf } from '../../calculations/quota.ts'
import { useLabels } from '../../i18n/labels.ts'

/** When the vendor last accepted the credentials, and how much of the day's quota is used. */
export function UsePanel({ certificate }: { certificate: CertificateView }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const { timeZone } = cardOf(channelOfPublicName(certificate.channel) as VendorChannel).limits
  const quota = quotaOf(certificate, timeZone, Date.now() / 1000)
  if (certificate.worked_at === null && quota.length === 0) return null
  return (
    <div>
      {certificate.worked_at !== null && (
        <Text size="sm">{t('certificates.workedAt', { time: format.hour(certificate.worked_at) })}</Text>
      )}
      {quota.map(({ messageClass, used, left }) => (
        <Text key={messageClass} size="sm">
          {t(left === null ? 'certificates.sentToday' : 'certificates.quotaToday', {
            messageClass: t(`send.${messageClass}`),
            used: format.number(used),
            left: format.number(left ?? 0),
          })}
        </Text>
      ))}
    </div>
  )
}
