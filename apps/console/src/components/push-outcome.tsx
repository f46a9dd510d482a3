import { Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { readPaths } from '../api/calls.ts'
import { useLabels } from '../i18n/labels.ts'
import { useAppId } from '../session/session.ts'
import { DeviceLink } from './device-link.tsx'
import { ErrorAlert } from './error-alert.tsx'
import { ReasonText } from './reason-text.tsx'
import { fateTone, StatusBadge } from './status-badge.tsx'

const POLL_MS = 1000
/** Receipts may take long, and a closed channel stays closed: after this many readings the task's page tells the rest. */
const MAX_READINGS = 60

/** The outcome of a push on one device, refreshed while the page is open. */
export function PushOutcome({ taskId, guid }: { taskId: number; guid: string }) {
  const { t } = useTranslation()
  const { channel, fate, format } = useLabels()
  const appId = useAppId()
  const query = useQuery({
    queryKey: ['outcome', appId, taskId, guid],
    queryFn: async () => (await readPaths(appId, taskId, { device_guid: guid }))[0] ?? null,
    refetchInterval: ({ state }) =>
      state.data?.received_at || state.dataUpdateCount >= MAX_READINGS ? false : POLL_MS,
  })
  if (query.isError && !query.data) return <ErrorAlert error={query.error} retry={query.refetch} />
  const last = query.data?.path.at(-1)
  return (
    <Group gap="xs" role="status" data-outcome={guid}>
      <DeviceLink guid={guid} />
      {last ? (
        <>
          <StatusBadge tone={query.data?.received_at ? 'good' : fateTone(last.fate)}>
            {query.data?.received_at ? t('outcome.received') : fate(last.fate)}
          </StatusBadge>
          <Text span size="sm">
            {channel(last.channel)}
          </Text>
          {query.data?.received_at && (
            <Text span size="sm" c="dimmed">
              {format.clock(query.data.received_at)}
            </Text>
          )}
          {last.code && last.fate !== 'sent' && (
            <Text span size="sm" className="breaks">
              <ReasonText code={last.code} reason={last.reason ?? ''} />
            </Text>
          )}
        </>
      ) : (
        <Text span size="sm" c="dimmed">
          {t(query.data === null ? 'task.notRecipient' : 'outcome.waiting')}
        </Text>
      )}
    </Group>
  )
}
