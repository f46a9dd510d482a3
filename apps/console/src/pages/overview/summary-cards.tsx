import { Paper, SimpleGrid, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { ChannelHealth, Overview } from '../../api/records.ts'
import { useLabels } from '../../i18n/labels.ts'
import { useCurrentSession } from '../../session/session.ts'

export function SummaryCards({ overview }: { overview: Overview | undefined }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const isOperator = useCurrentSession().session.role === 'operator'
  const shown = (value: number | undefined) => (value === undefined ? '–' : format.number(value))
  const sum = (kind: keyof ChannelHealth & ('rate' | 'sent_10m' | 'failed_10m')) =>
    overview?.channels.reduce((all, channel) => all + channel[kind], 0)
  const rate = sum('rate')
  const cards: [name: 'rate' | 'recent' | 'openTasks' | 'day' | 'online', value: string, detail?: string][] =
    [
      [
        'rate',
        t('app.perSecond', {
          // Less than one device per second is not nothing.
          n: rate !== undefined && rate > 0 && rate < 1 ? '< 1' : shown(rate && Math.round(rate)),
        }),
        t('overview.rateDetail'),
      ],
      ['recent', shown(sum('sent_10m')), t('overview.recentDetail', { failed: shown(sum('failed_10m')) })],
      [
        'openTasks',
        shown(overview?.tasks_open),
        t('overview.accepted', { n: shown(overview?.accepted_last_minute) }),
      ],
      [
        'day',
        shown(overview?.sent_total),
        t('overview.dayDetail', {
          received: shown(overview?.received_total),
          failed: shown(overview?.failed_total),
        }),
      ],
      [
        'online',
        `${overview?.native.estimated ? '≈ ' : ''}${shown(overview?.native.online)}`,
        isOperator ? t('overview.gateways', { n: shown(overview?.native.gateways) }) : undefined,
      ],
    ]
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} spacing="sm">
      {cards.map(([name, value, detail]) => (
        <Paper key={name} withBorder p="sm" data-card={name}>
          <Text size="xs" c="dimmed">
            {t(`overview.${name}`)}
          </Text>
          <div className="figure">{value}</div>
          {detail && (
            <Text size="xs" c="dimmed">
              {detail}
            </Text>
          )}
        </Paper>
      ))}
    </SimpleGrid>
  )
}
