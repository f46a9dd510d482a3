import { Alert, Anchor, Stack, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { useOverviewQuery } from '../api/overview-query.ts'
import { alertsOf, type ChannelAlert, isUrgent } from '../calculations/alerts.ts'
import { useLabels } from '../i18n/labels.ts'
import { pathIn } from '../session/application-path.ts'
import { useCurrentSession } from '../session/session.ts'

const REFRESH_MS = 15_000
/** Further channels are counted. */
const MAX_NAMES = 4

/** Shows on every page which channels do not send, or soon will not. */
export function AlertBar() {
  const { t } = useTranslation()
  const { appId } = useCurrentSession()
  const { data } = useOverviewQuery(appId, REFRESH_MS)
  const alerts = data ? alertsOf(data, data.at) : []
  const isRed = alerts.some(({ kind }) => isUrgent(kind))
  return (
    // The region stays, so that screen readers announce what is added to it.
    <div role="status" aria-label={t('alerts.label')}>
      {alerts.length > 0 && (
        <Alert
          mb="md"
          py="xs"
          color={isRed ? 'red' : 'orange'}
          variant="light"
          icon={<IconAlertTriangle size={18} aria-hidden />}
        >
          <Stack gap={4}>
            {alerts.map((alert) => (
              <AlertLine key={alert.kind} {...alert} />
            ))}
          </Stack>
        </Alert>
      )}
    </div>
  )
}

function AlertLine({ kind, channels }: ChannelAlert) {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  const { appId, applications } = useCurrentSession()
  const nameOf = (id: string) => applications.find(({ app_id }) => app_id === id)?.name ?? id
  const names = channels
    .slice(0, MAX_NAMES)
    .map((one) =>
      appId === undefined
        ? t('app.aside', { name: channel(one.channel), value: nameOf(one.appId) })
        : channel(one.channel),
    )
  if (channels.length > MAX_NAMES) names.push(t('alerts.further', { n: channels.length - MAX_NAMES }))
  return (
    <Text size="sm" className="breaks" data-alert={kind}>
      {t(`alerts.${kind}`, { channels: format.list(names) })}{' '}
      <Anchor
        component={Link}
        to={pathIn(channels[0]!.appId, '/certificates')}
        size="sm"
        inherit
        underline="always"
      >
        {t('alerts.open')}
      </Anchor>
    </Text>
  )
}
