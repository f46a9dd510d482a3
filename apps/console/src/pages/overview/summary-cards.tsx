import { Paper, SimpleGrid, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { Overview } from '../../api/records.ts'
import type { Rate } from '../../calculations/rates.ts'
import { useLabels } from '../../i18n/labels.ts'

type Props = { overview: Overview | undefined; rate: Rate | undefined }

export function SummaryCards({ overview, rate }: Props) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const shown = (value: number | undefined) => (value === undefined ? '–' : format.number(value))
  const cards: [name: string, value: string, detail?: string][] = [
    [t('overview.rate'), t('app.perSecond', { n: shown(rate?.sent) })],
    [t('overview.openTasks'), shown(overview?.tasks_open)],
    [t('overview.accepted'), shown(overview?.accepted_last_minute)],
    [
      t('overview.day'),
      shown(overview?.sent_total),
      t('overview.dayDetail', {
        received: shown(overview?.received_total),
        failed: shown(overview?.failed_total),
      }),
    ],
    [
      t('overview.online'),
      `${overview?.native.estimated ? '≈ ' : ''}${shown(overview?.native.online)}`,
      t('overview.gateways', { n: shown(overview?.native.gateways) }),
    ],
  ]
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} spacing="sm">
      {cards.map(([name, value, detail]) => (
        <Paper key={name} withBorder p="sm">
          <Text size="xs" c="dimmed">
            {name}
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
