import { conditionOf } from '@herald/domain'
import { Button, Stack, Table, Text } from '@mantine/core'
import { IconCertificate } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import type { ChannelCertificate, Overview } from '../../api/records.ts'
import { expiryOf } from '../../calculations/expiry.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { certificateTone, StatusBadge } from '../../components/status-badge.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useCurrentSession } from '../../session/session.ts'

export function ChannelTable({ overview }: { overview: Overview }) {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  const used = overview.channels.filter(
    ({ certificates, sent_10m, failed_10m }) => certificates.length + sent_10m + failed_10m > 0,
  )
  if (used.length === 0)
    return (
      <EmptyState icon={IconCertificate} title={t('certificates.empty')} text={t('overview.channelsEmpty')}>
        <Button component={Link} to="/certificates">
          {t('nav.certificates')}
        </Button>
      </EmptyState>
    )
  return (
    <WideTable label={t('overview.channels')} minWidth={300}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('app.channel')}</Table.Th>
          <Table.Th>{t('overview.certificate')}</Table.Th>
          <Table.Th className="number">{t('counter.sent')}</Table.Th>
          <Table.Th className="number">{t('counter.failed')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {used.map((row) => (
          <Table.Tr key={row.channel}>
            <Table.Td>{channel(row.channel)}</Table.Td>
            <Table.Td>
              <Stack gap={4}>
                {row.certificates.length === 0 && (
                  <Text size="sm" c="dimmed">
                    {row.channel === 'nativepush' ? t('overview.noCertificate') : t('certificates.empty')}
                  </Text>
                )}
                {row.certificates.map((certificate) => (
                  <CertificateLine key={certificate.id} certificate={certificate} at={overview.at} />
                ))}
              </Stack>
            </Table.Td>
            <Table.Td className="number">{format.number(row.sent_10m)}</Table.Td>
            <Table.Td className="number">{format.number(row.failed_10m)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}

function CertificateLine({ certificate, at }: { certificate: ChannelCertificate; at: number }) {
  const { t } = useTranslation()
  const { format } = useLabels()
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
  return (
    <div>
      <StatusBadge tone={certificateTone(condition)}>{t(`certificateState.${condition}`)}</StatusBadge>{' '}
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
        <Text size="xs" c="dimmed" className="breaks">
          {t('certificates.silentSince', { since: format.time(breaker.since) })}{' '}
          {t('certificates.nextTry', { time: format.clock(breaker.retry_at) })}{' '}
          <span data-from="api">{breaker.reason}</span>
        </Text>
      )}
      {held.length > 0 && (
        <Text size="xs" c="dimmed" className="breaks">
          {t('overview.held')} <span data-from="api">{format.list(held)}</span>
        </Text>
      )}
      {certificate.reason && certificate.state !== 'open' && (
        <Text size="xs" c="dimmed" className="breaks">
          {certificate.reason}
        </Text>
      )}
    </div>
  )
}
