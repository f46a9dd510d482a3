import { Anchor, Grid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { readOverview } from '../../api/calls.ts'
import type { Overview } from '../../api/records.ts'
import { addSample, ratesOf, type Sample } from '../../calculations/rates.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Panel } from '../../components/panel.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useCurrentSession } from '../../session/session.ts'
import { ChannelTable } from './channel-table.tsx'
import { QueueTable } from './queue-table.tsx'
import { RateChart } from './rate-chart.tsx'
import { SummaryCards } from './summary-cards.tsx'

const REFRESH_MS = 2000

export const page = { Component: OverviewPage }

function OverviewPage() {
  const { t } = useTranslation()
  const { format } = useLabels()
  const { appId, session, applicationName } = useCurrentSession()
  const { data, error, refetch } = useQuery({
    queryKey: ['overview', appId],
    queryFn: () => readOverview(appId),
    refetchInterval: REFRESH_MS,
  })
  const rates = ratesOf(useSamples(appId, data))
  return (
    <Stack>
      <PageHeader
        title={t('nav.overview')}
        lead={
          data
            ? `${applicationName} · ${t(error ? 'overview.stale' : 'overview.updated', { time: format.clock(data.at) })}`
            : t('overview.lead')
        }
      />
      {error && <ErrorAlert error={error} retry={refetch} />}
      <SummaryCards overview={data} rate={rates.at(-1)} />
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
                  {t('overview.queueDashboard')}
                </Anchor>
              )
            }
          >
            {data ? <QueueTable queues={data.queues} /> : <Text c="dimmed">{t('app.loading')}</Text>}
          </Panel>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 7 }}>
          <Panel
            title={t('overview.channels')}
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

/** The samples since the page was opened for this application. */
function useSamples(appId: string | undefined, data: Overview | undefined): readonly Sample[] {
  const [stored, setStored] = useState<{ appId?: string; samples: readonly Sample[] }>({ appId, samples: [] })
  useEffect(() => {
    if (!data) return
    const { at, sent_total: sent, received_total: received, failed_total: failed } = data
    setStored((before) => ({
      appId,
      samples: addSample(before.appId === appId ? before.samples : [], { at, sent, received, failed }),
    }))
  }, [appId, data])
  return stored.appId === appId ? stored.samples : []
}
