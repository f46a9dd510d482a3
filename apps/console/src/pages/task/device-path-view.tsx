import type { DevicePath } from '@herald/client'
import { Group, Paper, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { reportsArrival } from '../../calculations/funnel.ts'
import { DeviceLink } from '../../components/device-link.tsx'
import { ReasonText } from '../../components/reason-text.tsx'
import { fateTone, StatusBadge, type Tone } from '../../components/status-badge.tsx'
import { useLabels } from '../../i18n/labels.ts'

/** The channels that a device was given to, in order, and its receipts. */
export function DevicePathView({ device }: { device: DevicePath }) {
  const { t } = useTranslation()
  const { device_guid, path, received_at, clicked_at } = device
  const last = path.at(-1)
  return (
    <Paper withBorder p="sm" component="article">
      <Group gap="xs">
        <DeviceLink guid={device_guid} />
        <Text size="sm" c="dimmed" className="breaks" data-from="api">
          {[device.alias, device.user_id].filter((name) => name !== null).join(' · ')}
        </Text>
      </Group>
      {path.length === 0 && (
        <Text size="sm" c="dimmed">
          {t('task.notRecipient')}
        </Text>
      )}
      <ol className="path" hidden={path.length === 0 && received_at === null}>
        {path.map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no id, and new ones are added at the end
          <Step key={index} step={step} />
        ))}
        {received_at !== null && <Entry tone="good" name={t('counter.received')} at={received_at} />}
        {clicked_at !== null && <Entry tone="good" name={t('counter.clicked')} at={clicked_at} />}
      </ol>
      {last?.fate === 'sent' && received_at === null && (
        <Text size="sm" c="dimmed">
          {t(reportsArrival(last.channel) ? 'task.noReceipt' : 'task.cannotReport')}
        </Text>
      )}
    </Paper>
  )
}

function Step({ step }: { step: DevicePath['path'][number] }) {
  const { t } = useTranslation()
  const { channel, fate, format } = useLabels()
  return (
    <Entry tone={fateTone(step.fate)} name={fate(step.fate)} channel={channel(step.channel)} at={step.at}>
      {(step.code || step.reason) && (
        <Text size="sm" component="div" className="breaks">
          <ReasonText code={step.code} reason={step.reason ?? ''} />
        </Text>
      )}
      {step.next_attempt_at !== null && (
        <Text size="sm">
          {t('task.nextAttempt')}
          {t('app.colon')}
          {format.time(step.next_attempt_at)}
        </Text>
      )}
    </Entry>
  )
}

type EntryProps = { tone: Tone; name: string; channel?: string; at: number | null; children?: ReactNode }

function Entry({ tone, name, channel, at, children }: EntryProps) {
  const { format } = useLabels()
  return (
    <li>
      <Group gap="xs">
        <StatusBadge tone={tone}>{name}</StatusBadge>
        {channel && (
          <Text span size="sm" fw={600}>
            {channel}
          </Text>
        )}
        <Text span size="sm" c="dimmed">
          {format.time(at)}
        </Text>
      </Group>
      {children}
    </li>
  )
}
