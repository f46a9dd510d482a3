import type { CertificateHold, CertificateView } from '@herald/client'
import { conditionOf, isLeftOut, partOf } from '@herald/domain'
import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { ReasonText, StoredReasonText } from '../../components/reason-text.tsx'
import { useLabels } from '../../i18n/labels.ts'

/** Why a certificate does not send, or not all messages, and what happens next. */
export function HealthPanel({ certificate }: { certificate: CertificateView }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const { breaker, holds, last_error, check_error } = certificate
  const stored = (reason: string) => <StoredReasonText channel={certificate.channel} reason={reason} />
  const isClosed = conditionOf(certificate) === 'closed'
  return (
    <>
      {isClosed && (
        <Entry
          title={t('certificates.closedSince', {
            since: format.time(certificate.first_refused_at ?? certificate.closed_at),
          })}
          reason={last_error && stored(last_error)}
        >
          {certificate.next_probe_at === null
            ? t('certificates.notProbed')
            : t('certificates.nextProbe', {
                time: format.time(certificate.next_probe_at),
                n: certificate.probes,
              })}
        </Entry>
      )}
      {!isClosed && last_error && (
        <Entry
          title={`${t('certificates.lastError')} · ${format.time(certificate.last_error_at)}`}
          reason={stored(last_error)}
        />
      )}
      {breaker && (
        <Entry
          title={t('certificates.silentSince', { since: format.time(breaker.since) })}
          reason={<ReasonText {...breaker} />}
        >
          {t('certificates.nextTry', { time: format.time(breaker.retry_at) })}
        </Entry>
      )}
      {holds.map((hold) => (
        <HoldEntry key={hold.scope} hold={hold} />
      ))}
      {check_error && check_error !== last_error && (
        <Entry
          title={t('certificates.checkFailed', { time: format.time(certificate.check_error_at) })}
          reason={stored(check_error)}
        />
      )}
    </>
  )
}

function HoldEntry({ hold }: { hold: CertificateHold }) {
  const { t } = useTranslation()
  const { format, part } = useLabels()
  const { active, since, until, code, reason } = hold
  const kind = isLeftOut(hold) ? 'leftOut' : hold.kind
  const state = active ? kind : 'ended'
  const times = { since: format.time(since), until: format.time(until) }
  return (
    <Entry
      title={t(`certificateHold.${state}`, times)}
      part={part(partOf(hold))}
      reason={<ReasonText code={code} reason={reason} />}
    >
      {active && t(`certificateHold.${kind}Until`, times)}
    </Entry>
  )
}

type EntryProps = { title: string; part?: string; reason: ReactNode; children?: ReactNode }

/** `part`: what of the channel is concerned, if not all of it. */
function Entry({ title, part, reason, children }: EntryProps) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {title}
      </Text>
      {part && (
        <Text size="sm" fw={600} className="breaks" data-from="api">
          {part}
        </Text>
      )}
      {reason && (
        <Text size="sm" component="div" className="breaks">
          {reason}
        </Text>
      )}
      {children && <Text size="sm">{children}</Text>}
    </div>
  )
}
