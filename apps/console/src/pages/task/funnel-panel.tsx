import { Stack, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { type Funnel, type FunnelRow, shareOf } from '../../calculations/funnel.ts'
import { Panel } from '../../components/panel.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { FunnelSteps } from './funnel-steps.tsx'

/** target = sent + failed + moved + expired + cancelled + pending, on each channel. */
const ends = ['sent', 'failed', 'moved', 'expired', 'cancelled', 'pending'] as const

/** Devices targeted, sent, received and clicked, in all and by channel. */
export function FunnelPanel({ funnel }: { funnel: Funnel }) {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  const { rows, total } = funnel
  const names = rows.filter(({ reports }) => !reports).map((row) => channel(row.channel))
  // A column of zeros tells nothing.
  const kinds = ends.filter((kind) => kind === 'sent' || kind === 'failed' || total[kind] > 0)
  const isShared = total.moved > 0
  return (
    <Panel title={t('task.delivery')}>
      <Stack>
        <FunnelSteps funnel={funnel} silent={format.list(names)} />
        <WideTable label={t('task.delivery')} minWidth={320 + 70 * kinds.length}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('app.channel')}</Table.Th>
              <Table.Th className="number">{t('counter.target')}</Table.Th>
              {kinds.map((kind) => (
                <Table.Th key={kind} className="number">
                  {t(`counter.${kind}`)}
                </Table.Th>
              ))}
              <Table.Th className="number">{t('counter.received')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row) => (
              <Table.Tr key={row.channel} data-channel={row.channel}>
                <Table.Th scope="row">{channel(row.channel)}</Table.Th>
                <Counts counts={row} kinds={kinds} />
                <Table.Td className="number">
                  <Received row={row} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
          {rows.length > 1 && (
            <Table.Tfoot>
              <Table.Tr data-channel="total">
                <Table.Th scope="row">{t('task.allDevices')}</Table.Th>
                <Counts counts={{ ...total, moved: undefined }} kinds={kinds} />
                <Table.Td className="number">{format.number(total.received)}</Table.Td>
              </Table.Tr>
            </Table.Tfoot>
          )}
        </WideTable>
        {isShared && (
          <Text size="xs" c="dimmed">
            {t('task.movedHint')}
          </Text>
        )}
      </Stack>
    </Panel>
  )
}

type Counted = { [Kind in 'target' | (typeof ends)[number]]: number | undefined }

function Counts({ counts, kinds }: { counts: Counted; kinds: readonly (typeof ends)[number][] }) {
  const { format } = useLabels()
  return (['target', ...kinds] as const).map((kind) => (
    <Table.Td key={kind} className="number" data-kind={kind}>
      {counts[kind] === undefined ? '' : format.number(counts[kind])}
    </Table.Td>
  ))
}

/** The count and its share of the devices sent to; only of channels that report. */
function Received({ row }: { row: FunnelRow }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  if (!row.reports && row.received === 0)
    return (
      <Text span size="sm" c="dimmed">
        {t('task.notReported')}
      </Text>
    )
  const share = row.reports ? shareOf(row.received, row.sent) : undefined
  return (
    <>
      {format.number(row.received)}
      {share !== undefined && (
        <Text span size="xs" c="dimmed">
          {' '}
          {format.percent(share)}
        </Text>
      )}
    </>
  )
}
