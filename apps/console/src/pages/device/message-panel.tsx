import type { DeviceMessage } from '@herald/client'
import { Anchor, Group, Stack, Table, Text } from '@mantine/core'
import { IconMessages } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { listMessages } from '../../api/calls.ts'
import { reportsArrival } from '../../calculations/funnel.ts'
import { AppLink } from '../../components/app-link.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { Panel } from '../../components/panel.tsx'
import { ReasonText } from '../../components/reason-text.tsx'
import { useSkipEmptyPages } from '../../components/skip-empty-pages.ts'
import { fateTone, StatusBadge } from '../../components/status-badge.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'

const PAGE_SIZE = 20
const REFRESH_MS = 5000

/** The pushes to a device, newest first. */
export function useMessages(guid: string, enabled: boolean) {
  const appId = useAppId()
  return useInfiniteQuery({
    queryKey: ['device', appId, guid, 'messages'],
    queryFn: ({ pageParam }) =>
      listMessages(appId, { device_guid: guid, limit: PAGE_SIZE, before: pageParam }),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ next }) => (next === null ? undefined : Number(next)),
    // A refresh loads all pages again.
    refetchInterval: ({ state: { data } }) => ((data?.pages.length ?? 0) <= 1 ? REFRESH_MS : false),
    enabled,
  })
}

type Props = { guid: string; query: ReturnType<typeof useMessages> }

export function MessagePanel({ guid, query }: Props) {
  const { t } = useTranslation()
  const messages = query.data?.pages.flatMap(({ list }) => list) ?? []
  const isReading = useSkipEmptyPages(query, messages)
  return (
    <Panel title={t('device.messages')}>
      <Stack gap="sm">
        {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
        {isReading ? (
          <Loading />
        ) : messages.length > 0 ? (
          <MessageTable guid={guid} messages={messages} />
        ) : (
          query.data && <EmptyState icon={IconMessages} title={t('device.messagesEmpty')} />
        )}
        {!isReading && <MoreButton pages={query} />}
      </Stack>
    </Panel>
  )
}

function MessageTable({ guid, messages }: { guid: string; messages: DeviceMessage[] }) {
  const { t } = useTranslation()
  return (
    <WideTable label={t('device.messages')} minWidth={340}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('tasks.message')}</Table.Th>
          <Table.Th>{t('task.result')}</Table.Th>
          <Table.Th>{t('device.receipts')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {messages.map((message) => (
          <MessageRow key={`${message.task_id} ${message.device_id}`} guid={guid} message={message} />
        ))}
      </Table.Tbody>
    </WideTable>
  )
}

function MessageRow({ guid, message }: { guid: string; message: DeviceMessage }) {
  const { t } = useTranslation()
  const { channel, fate, format } = useLabels()
  const id = String(message.task_id)
  const isUnknown = message.fate === 'sent' && !reportsArrival(message.channel)
  const receipts = [
    [t('counter.received'), message.received_at] as const,
    [t('counter.clicked'), message.clicked_at] as const,
  ].filter(([, at]) => at !== null)
  return (
    <Table.Tr data-task={id}>
      <Table.Td maw={260}>
        <Anchor
          component={AppLink}
          to={`/tasks/${id}?by=byGuid&value=${encodeURIComponent(guid)}`}
          size="sm"
          className="breaks"
          lineClamp={2}
          data-from={message.title ? 'api' : undefined}
        >
          {message.title || t('tasks.untitled')}
        </Anchor>
        <Text size="xs" c="dimmed" className="breaks" data-from="api">
          {message.campaign === null ? id : `${id} · ${message.campaign}`}
        </Text>
      </Table.Td>
      <Table.Td className="breaks">
        <Group gap="xs">
          <StatusBadge tone={fateTone(message.fate)}>{fate(message.fate)}</StatusBadge>
          <Text span size="sm">
            {channel(message.channel)}
          </Text>
        </Group>
        <Text size="xs" c="dimmed">
          {format.time(message.at)}
        </Text>
        {message.code !== null && (
          <Text size="sm" component="div">
            <ReasonText code={message.code} reason={message.reason ?? ''} />
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        {receipts.map(([name, at]) => (
          <Text key={name} size="sm">
            {name}
            <Text span size="xs" c="dimmed" display="block">
              {format.time(at)}
            </Text>
          </Text>
        ))}
        {receipts.length === 0 && (isUnknown ? t('task.notReported') : '–')}
      </Table.Td>
    </Table.Tr>
  )
}
