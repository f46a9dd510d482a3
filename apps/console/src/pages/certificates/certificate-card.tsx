import type { CredentialField } from '@herald/channels/cards'
import type { CertificateView } from '@herald/client'
import { cardOf, channelOfPublicName, conditionOf, healthWarnings, type VendorChannel } from '@herald/domain'
import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { removeCertificate } from '../../api/calls.ts'
import { daysUntil, expiryOf } from '../../calculations/expiry.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { CopyText } from '../../components/copy-text.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { NoteText } from '../../components/note-text.tsx'
import { certificateTone, StatusBadge } from '../../components/status-badge.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'
import { CheckResult } from './check-result.tsx'
import { HealthPanel } from './health-panel.tsx'
import type { CheckState } from './use-checks.ts'
import { UsePanel } from './use-panel.tsx'
import { isRegion, showsEnvironment } from './vendor-forms.ts'

/** The card shows the day and how much time is left. */
const EXPIRY = /^The certificate expire[sd] on /

type Props = {
  certificate: CertificateView
  check: CheckState
  onCheck(): void
  onEdit(): void
  onRemoved(): void
}

export function CertificateCard({ certificate, check, onCheck, onEdit, onRemoved }: Props) {
  const { t } = useTranslation()
  const { channel, text } = useLabels()
  const appId = useAppId()
  const queries = useQueryClient()
  const [confirming, setConfirming] = useState(false)
  const { provider, environment } = certificate
  const key = { provider, environment, region: certificate.region ?? undefined }
  const name = channel(certificate.channel)
  const condition = conditionOf(certificate)
  const warnings = otherWarnings(certificate)
  const region = cardOf(channelOfPublicName(certificate.channel) as VendorChannel)
    .credentials.flatMap((form) => [...form.fields] as CredentialField[])
    .find(isRegion)
  const place = [
    showsEnvironment(certificate.channel, environment) && t(`environment.${environment}`),
    certificate.region && text(region!.choiceTexts![certificate.region]!),
  ].filter((part) => typeof part === 'string')
  const reload = () => queries.invalidateQueries({ queryKey: ['certificates', appId] })
  const removing = useMutation({
    mutationFn: () => removeCertificate(appId, key),
    onSuccess: onRemoved,
    onSettled: async () => {
      setConfirming(false)
      await reload()
    },
  })
  return (
    <Paper withBorder p="md" component="section" aria-label={[name, ...place].join(', ')}>
      <Stack gap="xs" h="100%">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <div>
            <Title order={2}>{name}</Title>
            <Text size="sm" c="dimmed" className="breaks">
              {[certificate.name, ...place].filter(Boolean).join(' · ')}
            </Text>
          </div>
          <StatusBadge tone={certificateTone(condition)}>{t(`certificateState.${condition}`)}</StatusBadge>
        </Group>
        {certificate.app_id && (
          <div>
            <Text size="xs" c="dimmed">
              {t('certificates.vendorId')}
            </Text>
            <Text size="sm" className="breaks">
              {certificate.app_id}
            </Text>
          </div>
        )}
        <ExpiryLine expiresAt={certificate.expires_at} />
        <UsePanel certificate={certificate} />
        {certificate.callback_url && (
          <div>
            <Text size="xs" c="dimmed">
              {t('certificates.callback')}
            </Text>
            <CopyText value={certificate.callback_url} />
          </div>
        )}
        <HealthPanel certificate={certificate} />
        {warnings.length > 0 && (
          <div>
            <Text size="xs" c="dimmed">
              {t('certificates.warnings')}
            </Text>
            {warnings.map((warning) => (
              <Text key={warning} size="sm" className="breaks">
                <NoteText>{warning}</NoteText>
              </Text>
            ))}
          </div>
        )}
        {check.result && <CheckResult name={name} result={check.result} />}
        <ErrorAlert error={check.error ?? removing.error} />
        <Group gap="xs" mt="auto">
          <Button
            size="xs"
            variant="default"
            aria-label={t('certificates.editTitle', { name: [name, ...place].join(', ') })}
            onClick={onEdit}
          >
            {t('certificates.edit')}
          </Button>
          <Button size="xs" variant="default" loading={check.busy} onClick={onCheck}>
            {t('certificates.check')}
          </Button>
          <Button size="xs" variant="default" onClick={() => setConfirming(true)}>
            {t('certificates.remove')}
          </Button>
        </Group>
      </Stack>
      <ConfirmDialog
        opened={confirming}
        danger
        title={t('certificates.removeTitle', { name })}
        text={t('certificates.removeText', { name })}
        button={t('certificates.removeButton')}
        busy={removing.isPending}
        onConfirm={() => removing.mutate()}
        onClose={() => setConfirming(false)}
      />
    </Paper>
  )
}

/** Without those that the card shows in other places. */
function otherWarnings(certificate: CertificateView): string[] {
  const channel = channelOfPublicName(certificate.channel) as VendorChannel
  const shown = new Set(healthWarnings(cardOf(channel).title.en, certificate))
  return certificate.warnings.filter((warning) => !shown.has(warning) && !EXPIRY.test(warning))
}

function ExpiryLine({ expiresAt }: { expiresAt: number | null }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  if (expiresAt === null) return null
  const now = Date.now() / 1000
  const expiry = expiryOf(expiresAt, now)
  const day = format.day(expiresAt)
  return (
    <Group gap="xs">
      <Text size="sm">{`${t('certificates.expires')}${t('app.colon')}${day}`}</Text>
      {expiry.kind === 'expired' && (
        <StatusBadge tone="bad">{t('certificates.expiredSince', { day })}</StatusBadge>
      )}
      {expiry.kind === 'soon' && (
        <StatusBadge tone="waiting">
          {format.relative({ value: daysUntil(expiresAt, now), unit: 'day' })}
        </StatusBadge>
      )}
    </Group>
  )
}
