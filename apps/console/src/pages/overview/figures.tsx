import { Paper, SimpleGrid, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { Overview } from '../../api/records.ts'
import type { Rate } from '../../figures/rates.ts'
import { useWords } from '../../parts/words.ts'

type Props = { overview: Overview | undefined; rate: Rate | undefined }

/** The figures an operator glances at first. */
export function Figures({ overview, rate }: Props) {
  const { t } = useTranslation()
  const { format } = useWords()
  const shown = (value: number | undefined) => (value === undefined ? '–' : format.number(value))
  const cards: [name: string, value: string, more?: string][] = [
    [t('overview.rate'), t('overview.perSecond', { n: shown(rate?.sent) })],
    [t('overview.openTasks'), shown(overview?.tasks_open)],
    [t('overview.accepted'), shown(overview?.accepted_last_minute)],
    [
      t('overview.day'),
      shown(overview?.sent_total),
      t('overview.dayMore', {
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
      {cards.map(([name, value, more]) => (
        <Paper key={name} withBorder p="sm">
          <Text size="xs" c="dimmed">
            {name}
          </Text>
          <div className="figure">{value}</div>
          {more && (
            <Text size="xs" c="dimmed">
              {more}
            </Text>
          )}
        </Paper>
      ))}
    </SimpleGrid>
  )
}
