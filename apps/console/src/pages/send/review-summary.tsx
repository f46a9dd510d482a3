import type { AudienceCount } from '@herald/client'
import { Code, Loader, Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { secondsAtSpeed } from '../../calculations/audience-size.ts'
import { secondsOf } from '../../calculations/local-time.ts'
import { zoneText } from '../../calculations/time-zone.ts'
import { TimeText } from '../../components/time-text.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useCurrentSession } from '../../session/session.ts'
import { useChannelCounts, useDeviceCount } from './audience-size.tsx'
import { audienceOf, type Draft } from './draft.ts'

/** The rest of a long list is only counted. */
const SHOWN_VALUES = 10

type Props = { draft: Draft; count: AudienceCount | undefined; isCounting: boolean }

/** Message, audience, size, time and speed. */
export function ReviewSummary({ draft, count, isCounting }: Props) {
  const { t } = useTranslation()
  const { applicationName } = useCurrentSession()
  const rows: [name: string, value: ReactNode][] = [
    [t('app.application'), applicationName],
    [t('review.message'), <Message key="message" draft={draft} />],
    [t('send.audience'), <Audience key="audience" draft={draft} />],
    [t('review.size'), <Size key="size" draft={draft} count={count} isCounting={isCounting} />],
    [t('review.when'), <When key="when" draft={draft} />],
    [t('review.speed'), <Speed key="speed" draft={draft} count={count} />],
  ]
  if (draft.campaign.trim() !== '') rows.push([t('tasks.campaign'), draft.campaign.trim()])
  if (draft.strategy !== '') rows.push([t('send.strategy'), t(`send.${draft.strategy}`)])
  return (
    <Table variant="vertical" layout="fixed" aria-label={t('review.title')}>
      <Table.Tbody>
        {rows.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th w={{ base: 116, xs: 140 }} scope="row">
              {name}
            </Table.Th>
            <Table.Td className="breaks">{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

function Message({ draft }: { draft: Draft }) {
  const { t } = useTranslation()
  const text = draft.body.trim() || draft.bigText.trim()
  const type = { text: 'typeText', image: 'typeImage', cmd: 'typeCmd' } as const
  return (
    <div data-from="api">
      {draft.title.trim() !== '' && (
        <Text size="sm" fw={600}>
          {draft.title.trim()}
        </Text>
      )}
      {text !== '' && (
        <Text size="sm" className="prewrap" lineClamp={6}>
          {text}
        </Text>
      )}
      {draft.url.trim() !== '' && <Text size="xs">{t('send.previewUrl', { url: draft.url.trim() })}</Text>}
      {draft.attachmentUrl.trim() !== '' && <Text size="xs">{draft.attachmentUrl.trim()}</Text>}
      {draft.ext.trim() !== '' && <Code block>{draft.ext.trim().slice(0, 500)}</Code>}
      {draft.type !== 'text' && (
        <Text size="xs" c="dimmed">
          {t(`send.${type[draft.type]}`)}
        </Text>
      )}
    </div>
  )
}

function Audience({ draft }: { draft: Draft }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  if (draft.audienceKind === 'all') return <Text fw={600}>{t('send.audienceAll')}</Text>
  const kinds = {
    tag: 'audienceTag',
    alias: 'audienceAlias',
    user_id: 'audienceUser',
    push_token: 'audienceToken',
    activity: 'audienceActivity',
  } as const
  const list = audienceOf(draft)
  return (
    <>
      {t('review.audience', { kind: t(`send.${kinds[draft.audienceKind]}`), n: format.number(list.length) })}{' '}
      <span data-from="api">{list.slice(0, SHOWN_VALUES).join(', ')}</span>
      {list.length > SHOWN_VALUES && ` ${t('review.more', { n: format.number(list.length - SHOWN_VALUES) })}`}
    </>
  )
}

function Size({ draft, count, isCounting }: Props) {
  const { t } = useTranslation()
  const { devices } = useDeviceCount()
  const channels = useChannelCounts()
  if (!count)
    return isCounting ? (
      <>
        <Loader size="xs" aria-hidden /> {t('send.sizeCounting')}
      </>
    ) : (
      t('review.sizeUnknown')
    )
  return (
    <div role="status">
      <Text fw={650}>{devices(count)}</Text>
      <Text size="sm">
        {channels(count)
          .map(([name, number]) => `${name} ${number}`)
          .join(' · ')}
      </Text>
      {draft.beginAt !== '' && (
        <Text size="xs" c="dimmed">
          {t('review.sizeNow')}
        </Text>
      )}
    </div>
  )
}

function When({ draft }: { draft: Draft }) {
  const { t } = useTranslation()
  return (
    <>
      {draft.beginAt === '' ? t('review.now') : <At value={draft.beginAt} />}
      {draft.endAt !== '' && (
        <Text size="sm">
          {t('review.until')} <At value={draft.endAt} />
        </Text>
      )}
    </>
  )
}

function At({ value }: { value: string }) {
  const { i18n } = useTranslation()
  const { format } = useLabels()
  const at = secondsOf(value)
  if (at === undefined) return null
  return (
    <>
      {format.time(at)} {zoneText(i18n.language, at * 1000)} · <TimeText at={at} />
    </>
  )
}

function Speed({ draft, count }: Pick<Props, 'draft' | 'count'>) {
  const { t } = useTranslation()
  const { duration, format } = useLabels()
  const speed = Number(draft.speed.trim())
  const seconds = count && secondsAtSpeed(count.devices - count.unreachable, draft.speed)
  if (draft.speed.trim() === '') return t('review.noLimit')
  const perSecond = t('review.perSecond', { n: format.number(speed) })
  if (seconds === undefined) return perSecond
  return t(count?.exact ? 'review.takes' : 'review.takesAtLeast', {
    speed: perSecond,
    duration: duration(seconds),
  })
}
