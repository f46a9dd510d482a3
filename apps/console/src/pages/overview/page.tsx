import { Anchor, Grid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { readOverview } from '../../api/calls.ts'
import type { Overview } from '../../api/records.ts'
import { useWho } from '../../app/session.ts'
import { addSample, ratesOf, type Sample } from '../../figures/rates.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Problem } from '../../parts/problem.tsx'
import { useWords } from '../../parts/words.ts'
import { ChannelTable } from './channel-table.tsx'
import { Figures } from './figures.tsx'
import { QueueTable } from './queue-table.tsx'
import { RateChart } from './rate-chart.tsx'

const EVERY_MS = 2000

export const page = { Component: OverviewPage }

function OverviewPage() {
  const { t } = useTranslation()
  const { format } = useWords()
  const { appId, session, applicationName } = useWho()
  const { data, error, refetch } = useQuery({
    queryKey: ['overview', appId],
    queryFn: () => readOverview(appId),
    refetchInterval: EVERY_MS,
  })
  const rates = ratesOf(useSamples(appId, data))
  return (
    <Stack>
      <PageHead
        title={t('overview.title')}
        lead={
          data
            ? `${applicationName} · ${t(error ? 'overview.stale' : 'overview.updated', { time: format.clock(data.at) })}`
            : t('overview.lead')
        }
      />
      {error && <Problem error={error} retry={refetch} />}
      <Figures overview={data} rate={rates.at(-1)} />
      <Panel title={t('overview.rateTitle')}>
        <RateChart rates={rates} />
      </Panel>
      <Grid>
        <Grid.Col span={{ base: 12, lg: 5 }}>
          <Panel
            title={t('overview.queues')}
            aside={
              session.role === 'operator' && (
                <Anchor href="/queues" size="sm">
                  {t('overview.boardLink')}
                </Anchor>
              )
            }
          >
            {data ? <QueueTable queues={data.queues} /> : <Text c="dimmed">{t('app.loading')}</Text>}
          </Panel>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 7 }}>
          <Panel
            title={t('overview.health')}
            aside={
              <Text size="sm" c="dimmed">
                {t('overview.recent')}
              </Text>
            }
          >
            {data ? <ChannelTable overview={data} /> : <Text c="dimmed">{t('app.loading')}</Text>}
          </Panel>
        </Grid.Col>
      </Grid>
    </Stack>
  )
}

/** The readings since the page was opened for this application. */
function useSamples(appId: string | undefined, data: Overview | undefined): readonly Sample[] {
  const [kept, setKept] = useState<{ appId?: string; samples: readonly Sample[] }>({ appId, samples: [] })
  useEffect(() => {
    if (!data) return
    const { at, sent_total: sent, received_total: received, failed_total: failed } = data
    setKept((before) => ({
      appId,
      samples: addSample(before.appId === appId ? before.samples : [], { at, sent, received, failed }),
    }))
  }, [appId, data])
  return kept.appId === appId ? kept.samples : []
}
