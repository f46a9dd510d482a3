import type { TaskRequest, TaskView } from '@herald/client'
import { publicName, type VendorChannel } from '@herald/domain'
import { Anchor, Badge, Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { readRequest } from '../../api/calls.ts'
import { type Asked, askedOf, indentJson } from '../../calculations/task-request.ts'
import { CampaignLink } from '../../components/campaign-link.tsx'
import { CopyText } from '../../components/copy-text.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { Panel } from '../../components/panel.tsx'
import { useLabels } from '../../i18n/labels.ts'

type Props = { appId: string; task: TaskView }

/** The request is stored with the task and never changes. */
export function useRequest(appId: string, taskId: number, enabled = true) {
  return useQuery({
    queryKey: ['request', appId, taskId],
    queryFn: () => readRequest(appId, taskId),
    staleTime: Number.POSITIVE_INFINITY,
    enabled,
  })
}

/** Message, audience, settings and sender. */
export function RequestPanel({ appId, task }: Props) {
  const { t } = useTranslation()
  const query = useRequest(appId, Number(task.task_id))
  return (
    <Panel title={t('task.request')}>
      {query.isPending && <Loading />}
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      {query.data && <Details task={task} request={query.data} />}
    </Panel>
  )
}

function Details({ task, request }: { task: TaskView; request: TaskRequest }) {
  const { t } = useTranslation()
  const { format, channel } = useLabels()
  const nameOf = (word: string) =>
    word === 'ups' ? t('send.ups') : channel(publicName(word as VendorChannel))
  const [shown, setShown] = useState(false)
  const asked = request.body === null ? undefined : askedOf(request.body)
  const text = request.body === null ? '' : indentJson(request.body)
  return (
    <Stack gap="md">
      {asked ? <Message asked={asked} /> : <Text size="sm">{t('task.isRecall')}</Text>}
      <DescriptionList items={factsOf()} />
      {request.tokens_lost > 0 && (
        <Text size="sm" c="dimmed">
          {t('task.tokensLost', { n: format.number(request.tokens_lost) })}
        </Text>
      )}
      {asked && (
        <div>
          <Group gap="xs">
            <Button variant="default" size="xs" aria-expanded={shown} onClick={() => setShown(!shown)}>
              {t(shown ? 'task.hideJson' : 'task.showJson')}
            </Button>
            {shown && (
              <CopyButton value={text}>
                {({ copied, copy }) => (
                  <Button variant="default" size="xs" onClick={copy}>
                    {t(copied ? 'app.copied' : 'app.copy')}
                  </Button>
                )}
              </CopyButton>
            )}
          </Group>
          {shown && (
            <Code block mt="xs" tabIndex={0} data-from="api">
              {text}
            </Code>
          )}
        </div>
      )}
    </Stack>
  )

  function factsOf(): [string, ReactNode][] {
    const facts: [string, ReactNode][] = []
    if (asked) {
      facts.push([t('task.audience'), <Audience key="audience" asked={asked} />])
      facts.push([t('send.strategy'), t(`send.${asked.strategy}`)])
      if (asked.sequence.length > 0) facts.push([t('send.sequence'), format.list(asked.sequence.map(nameOf))])
      facts.push([t('task.ttl'), <TimeToLive key="ttl" seconds={asked.ttl} />])
      if (asked.messageClass !== undefined)
        facts.push([t('send.messageClass'), t(`send.${asked.messageClass}`)])
      if (asked.showEnd !== undefined) facts.push([t('task.ends'), format.time(asked.showEnd)])
    }
    facts.push([t('send.priority'), t(`send.${task.priority}`)])
    facts.push([
      t('task.speed'),
      task.speed === null ? t('task.unlimited') : t('app.perSecond', { n: format.number(task.speed) }),
    ])
    facts.push([t('tasks.created'), format.time(task.created_at)])
    if (task.begin_at !== task.created_at) facts.push([t('task.begins'), format.time(task.begin_at)])
    if (task.finished_at !== null) facts.push([t('task.finished'), format.time(task.finished_at)])
    facts.push([
      t('task.sender'),
      <span key="sender" data-from="api">
        {[request.actor ?? t('task.senderUnknown'), request.address].filter(Boolean).join(' · ')}
      </span>,
    ])
    if (request.group_id !== null) facts.push([t('task.group'), String(request.group_id)])
    if (task.campaign !== null)
      facts.push([t('tasks.campaign'), <CampaignLink key="campaign" name={task.campaign} />])
    facts.push([t('tasks.id'), <CopyText key="id" value={String(task.task_id)} />])
    if (task.request_id !== null)
      facts.push([t('send.requestId'), <CopyText key="request" value={task.request_id} />])
    return facts
  }
}

function Message({ asked }: { asked: Asked }) {
  const { t } = useTranslation()
  const { type, title, body, bigText, attachment, url } = asked.message
  return (
    <div data-from="api">
      <Text size="xs" c="dimmed" data-from="">
        {t(`task.types.${type}`)}
      </Text>
      {title && <Text fw={650}>{title}</Text>}
      {body && <Text className="prewrap">{body}</Text>}
      {bigText && (
        <Text size="sm" className="prewrap">
          {bigText}
        </Text>
      )}
      {[attachment, url].map(
        (address) =>
          address && (
            <Text key={address} size="sm" c="dimmed" className="breaks">
              {/^https?:/.test(address) ? (
                <Anchor href={address} target="_blank" rel="noreferrer" size="sm">
                  {address}
                </Anchor>
              ) : (
                address
              )}
            </Text>
          ),
      )}
    </div>
  )
}

/** Entries shown of a list. */
const MAX_ENTRIES = 12

function Audience({ asked: { audience } }: { asked: Asked }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  if (audience.kind === 'all') return t('task.audiences.all')
  const hidden = audience.values.length - MAX_ENTRIES
  return (
    <>
      {t(`task.audiences.${audience.kind}`)}
      <Group gap={4} data-from="api">
        {audience.values.slice(0, MAX_ENTRIES).map((value) => (
          <Badge key={value} variant="default" tt="none" maw={220}>
            {value}
          </Badge>
        ))}
      </Group>
      {hidden > 0 && (
        <Text size="xs" c="dimmed">
          {t('task.moreEntries', { n: format.number(hidden) })}
        </Text>
      )}
    </>
  )
}

function TimeToLive({ seconds }: { seconds: number }) {
  const { t } = useTranslation()
  const { duration } = useLabels()
  return seconds === 0 ? t('task.ttlNow') : duration(seconds)
}
