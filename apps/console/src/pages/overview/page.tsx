import { Anchor, Grid, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useOverviewQuery } from '../../api/overview-query.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Panel } from '../../components/panel.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useCurrentSession } from '../../session/session.ts'
import { ChannelTable } from './channel-table.tsx'
import { QueueTable } from './queue-table.tsx'
import { SeriesPanel } from './series-panel.tsx'
import { SetupChecklist } from './setup-checklist.tsx'
import { SummaryCards } from './summary-cards.tsx'

const REFRESH_MS = 2000

export const page = { Component: OverviewPage }

function OverviewPage() {
  const { t } = useTranslation()
  const { format } = useLabels()
  const { appId, session, applicationName } = useCurrentSession()
  const { data, error, refetch } = useOverviewQuery(appId, REFRESH_MS)
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
      <SetupChecklist />
      <SummaryCards overview={data} />
      <Panel title={t('overview.channels')}>
        {data ? <ChannelTable overview={data} /> : <Text c="dimmed">{t('app.loading')}</Text>}
      </Panel>
      <Grid>
        <Grid.Col span={{ base: 12, lg: 7 }}>
          <SeriesPanel appId={appId} />
        </Grid.Col>
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
            {session.role === 'operator' && (
              <Text size="xs" c="dimmed" mt="xs">
                {t('overview.queueHint')}
              </Text>
            )}
          </Panel>
        </Grid.Col>
      </Grid>
    </Stack>
  )
}
