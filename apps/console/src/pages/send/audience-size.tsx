import type { AudienceCount } from '@herald/client'
import { Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { countAudience } from '../../api/calls.ts'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'
import { MAX_VALUES } from './audience-list.ts'
import { audienceOf, type Draft, hasAudience } from './draft.ts'
import { countText } from './request.ts'

/** A count reads up to 100,000 devices: while somebody types it is asked once. */
const TYPING_MS = 500
const FRESH_MS = 30_000

/** The size of the audience while the push is being written. */
export function AudienceSize({ draft }: { draft: Draft }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const names = useChannelCounts()
  const { devices } = useDeviceCount()
  const text = hasAudience(draft) && audienceOf(draft).length <= MAX_VALUES ? countText(draft) : ''
  const [asked] = useDebouncedValue(text, TYPING_MS)
  const query = useQuery({
    queryKey: ['audience', appId, asked],
    queryFn: ({ signal }) => countAudience(appId, asked, signal),
    enabled: asked !== '',
    staleTime: FRESH_MS,
    retry: false,
    placeholderData: keepPreviousData,
  })
  if (text === '') return <Hint text={t('send.sizeNone')} />
  if (query.isError) return <Hint text={t('send.sizeFailed')} />
  if (!query.data || asked !== text || query.isPlaceholderData) return <Hint text={t('send.sizeCounting')} />
  return (
    <div role="status" data-audience-size={query.data.devices}>
      <Text size="sm" fw={600} c={query.data.devices === 0 ? 'var(--herald-warning)' : undefined}>
        {query.data.devices === 0 ? t('send.sizeZero') : devices(query.data)}
      </Text>
      <Text size="xs" c="dimmed" lineClamp={1}>
        {names(query.data)
          .map(([name, count]) => `${name} ${count}`)
          .join(' · ')}
      </Text>
    </div>
  )
}

function Hint({ text }: { text: string }) {
  return (
    <Text size="sm" c="dimmed" role="status">
      {text}
    </Text>
  )
}

/** `20,013 devices`, or `at least 100,000 devices`. */
export function useDeviceCount() {
  const { t } = useTranslation()
  const { format } = useLabels()
  return {
    devices: ({ devices, exact }: Pick<AudienceCount, 'devices' | 'exact'>) =>
      t(exact ? (devices === 1 ? 'send.sizeOne' : 'send.size') : 'send.sizeAtLeast', {
        n: format.number(devices),
      }),
  }
}

/** Names and numbers of the channels, the largest first, then the devices that no channel reaches. */
export function useChannelCounts() {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  return ({ by_channel, unreachable }: AudienceCount): [name: string, count: string][] => {
    const counts = Object.entries(by_channel)
      .sort(([, a], [, b]) => b - a)
      .map(([name, count]): [string, string] => [channel(name), format.number(count)])
    return unreachable > 0 ? [...counts, [t('counter.unreachable'), format.number(unreachable)]] : counts
  }
}
