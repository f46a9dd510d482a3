import { Anchor, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { MergedGroup } from '../../calculations/not-sent.ts'
import { AppLink } from '../../components/app-link.tsx'
import { ReasonText } from '../../components/reason-text.tsx'
import { useNow } from '../../components/time-text.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { SampleDevices } from './sample-devices.tsx'

/** Somebody has to look at the credentials. */
const ofCredentials: ReadonlySet<string> = new Set([
  'herald.certificate_closed',
  'herald.certificate_invalid',
  'herald.no_certificate',
  'herald.vendor_silent',
])

/** Why devices wait, since when, and when they are tried next. */
export function WaitingTable({ groups }: { groups: MergedGroup[] }) {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  const now = useNow()
  const nextText = (at: number | null) => {
    if (at === null) return t('task.nextOpen')
    // A worker takes it when one is free.
    return at <= now ? t('task.nextDue') : format.time(at)
  }
  return (
    <WideTable label={t('task.waiting')} minWidth={300}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('app.channel')}</Table.Th>
          <Table.Th>{t('task.reason')}</Table.Th>
          <Table.Th className="number">{t('task.count')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {groups.map((group) => (
          <Table.Tr key={`${group.channels} ${group.fate} ${group.code ?? group.reason}`}>
            <Table.Td maw={200}>{format.list(group.channels.map(channel))}</Table.Td>
            <Table.Td className="breaks">
              <ReasonText code={group.code} reason={group.reason} />
              <Text size="sm" c="dimmed">
                {group.since ? `${t('task.since')}${t('app.colon')}${format.time(group.since)} · ` : ''}
                {t('task.nextAttempt')}
                {t('app.colon')}
                {nextText(group.next_attempt_at)}
              </Text>
              {ofCredentials.has(group.code ?? '') && (
                <Anchor component={AppLink} to="/certificates" size="sm">
                  {t('task.openCredentials')}
                </Anchor>
              )}
              <SampleDevices samples={group.samples} />
            </Table.Td>
            <Table.Td className="number">{format.number(group.count)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
