import { conditionOf, partOf } from '@herald/domain'
import { Button, Group, Stack, Table, Text } from '@mantine/core'
import { IconCertificate } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import type { ChannelCertificate, ChannelHealth, Overview } from '../../api/records.ts'
import { byTrouble } from '../../calculations/channel-order.ts'
import { expiryOf } from '../../calculations/expiry.ts'
import { AppLink } from '../../components/app-link.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ReasonText, StoredReasonText } from '../../components/reason-text.tsx'
import { certificateTone, StatusBadge } from '../../components/status-badge.tsx'
import { TimeText } from '../../components/time-text.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useCurrentSession } from '../../session/session.ts'

/** Certificates shown per channel; the operator may see thousands. Those with problems come first. */
const MAX_SHOWN = 8

const stateTones = { working: 'good', failing: 'bad', refused: 'bad', unused: 'over' } as const

export function ChannelTable({ overview }: { overview: Overview }) {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  const used = overview.channels.filter(
    ({ channel: name, certificates, state }) =>
      certificates.length > 0 || state !== 'unused' || name === 'nativepush',
  )
  if (used.every(({ certificates, state }) => certificates.length === 0 && state === 'unused'))
    return (
      <EmptyState icon={IconCertificate} title={t('certificates.empty')} text={t('overview.channelsEmpty')}>
        <Button component={AppLink} to="/certificates">
          {t('nav.certificates')}
        </Button>
      </EmptyState>
    )
  return (
    <WideTable label={t('overview.channels')} minWidth={300}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('app.channel')}</Table.Th>
          <Table.Th visibleFrom="sm">{t('overview.certificate')}</Table.Th>
          <Table.Th className="number unbroken" visibleFrom="md">
            {t('overview.sentMinute')}
          </Table.Th>
          <Table.Th className="number unbroken">{t('overview.sentTen')}</Table.Th>
          <Table.Th className="number unbroken">{t('overview.failedTen')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {byTrouble(used).map((row) => (
          <Table.Tr key={row.channel} data-channel={row.channel} data-state={row.state}>
            <Table.Td>
              <Group gap={6}>
                <Text span size="sm">
                  {channel(row.channel)}
                </Text>
                <StatusBadge tone={stateTones[row.state]}>{t(`channelState.${row.state}`)}</StatusBadge>
              </Group>
              <Attempts row={row} />
            </Table.Td>
            <Table.Td visibleFrom="sm">
              <Certificates row={row} at={overview.at} />
            </Table.Td>
            <Table.Td className="number" visibleFrom="md">
              {format.number(row.sent_1m)}
            </Table.Td>
            <Table.Td className="number">{format.number(row.sent_10m)}</Table.Td>
            <Table.Td className="number" c={row.failed_10m > 0 ? 'var(--mantine-color-error)' : undefined}>
              {format.number(row.failed_10m)}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}

/** The share of attempts that the vendor did not decide, and its last error. */
function Attempts({ row }: { row: ChannelHealth }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const { failing_share: share, last_error: error } = row
  return (
    <>
      {share !== null && share > 0 && (
        <Text size="xs" c={row.state === 'failing' ? 'var(--mantine-color-error)' : 'dimmed'}>
          {t('overview.failingShare', { share: format.percent(share) })}
        </Text>
      )}
      {error && (
        <Text component="div" size="xs" c="dimmed" className="breaks" maw={360}>
          {t('overview.lastError')} <TimeText at={error.at} />
          {t('app.colon')}
          <ReasonText code={error.code} reason={error.reason} />
        </Text>
      )}
    </>
  )
}

function Certificates({ row, at }: { row: ChannelHealth; at: number }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const isGood = (one: ChannelCertificate) => one.state === 'open' && !one.breaker && !one.failing
  const sorted = [...row.certificates].sort((a, b) => Number(isGood(a)) - Number(isGood(b)))
  const hidden = sorted.length - MAX_SHOWN
  return (
    <Stack gap={4}>
      {sorted.length === 0 && (
        <Text size="sm" c="dimmed">
          {row.channel === 'nativepush' ? t('overview.noCertificate') : t('certificates.empty')}
        </Text>
      )}
      {sorted.slice(0, MAX_SHOWN).map((certificate) => (
        <CertificateLine
          key={certificate.id}
          channel={row.channel}
          certificate={certificate}
          lastCode={row.last_error?.code}
          at={at}
        />
      ))}
      {hidden > 0 && (
        <Text size="xs" c="dimmed">
          {t('overview.moreCertificates', { n: format.number(hidden) })}
        </Text>
      )}
    </Stack>
  )
}

type LineProps = { channel: string; certificate: ChannelCertificate; lastCode?: string; at: number }

function CertificateLine({ channel, certificate, lastCode, at }: LineProps) {
  const { t } = useTranslation()
  const { format, part } = useLabels()
  const { appId, applications } = useCurrentSession()
  const owner = applications.find(({ app_id }) => app_id === certificate.app_id)
  // Only the parts that distinguish it from the other certificates of the row.
  const name = [
    appId === undefined && owner?.name,
    certificate.name,
    certificate.environment === 0 && t('environment.0'),
    certificate.region,
  ]
    .filter(Boolean)
    .join(' · ')
  const expiry = expiryOf(certificate.expires_at, at)
  const { breaker, held } = certificate
  const condition = conditionOf({
    ...certificate,
    holds: held.map(() => ({ active: true })),
  })
  // The vendor answers, but decides about few attempts: the breaker is not open.
  const isFailing = certificate.failing && !breaker && certificate.state !== 'closed'
  return (
    <div>
      {isFailing ? (
        <StatusBadge tone="bad">{t('channelState.failing')}</StatusBadge>
      ) : (
        <StatusBadge tone={certificateTone(condition)}>{t(`certificateState.${condition}`)}</StatusBadge>
      )}{' '}
      <Text span size="sm" className="breaks">
        {name}
      </Text>
      {certificate.throttled && (
        <Text size="xs" c="dimmed">
          {t('overview.throttled')}
        </Text>
      )}
      {expiry.kind === 'expired' && (
        <Text size="xs" c="red">
          {t('overview.expired')}
        </Text>
      )}
      {expiry.kind === 'soon' && (
        <Text size="xs" c="dimmed">
          {t('overview.expires', { when: format.day(certificate.expires_at ?? 0) })}
        </Text>
      )}
      {breaker && (
        <Text component="div" size="xs" c="dimmed" className="breaks">
          {t('certificates.silentSince', { since: format.time(breaker.since) })}{' '}
          {t('certificates.nextTry', { time: format.clock(breaker.retry_at) })}{' '}
          {/* The row has the last error of the channel. */}
          {breaker.code !== lastCode && <ReasonText {...breaker} />}
        </Text>
      )}
      {held.length > 0 && (
        <Text size="xs" c="dimmed" className="breaks">
          {t('overview.held')}{' '}
          <span data-from="api">{format.list(held.map((scope) => part(partOf({ scope }))))}</span>
        </Text>
      )}
      {certificate.reason && certificate.state !== 'open' && (
        <Text component="div" size="xs" c="dimmed" className="breaks">
          <StoredReasonText channel={channel} reason={certificate.reason} />
        </Text>
      )}
    </div>
  )
}
