import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { countAudience } from '../../api/calls.ts'
import type { parseSearch, SearchKind } from '../../components/search.ts'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'
import { audienceOf } from './searched-audience.ts'

type Props = { search: ReturnType<typeof parseSearch<SearchKind>>; shown: number; hasMore: boolean }

/** How many devices match. If the list has more pages, the server counts those that receive pushes. */
export function DeviceCount({ search, shown, hasMore }: Props) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const appId = useAppId()
  const audience = audienceOf(search.fields)
  const count = useQuery({
    queryKey: ['device-count', appId, audience],
    queryFn: ({ signal }) => countAudience(appId, JSON.stringify({ audience }), signal),
    enabled: hasMore && audience !== undefined,
  }).data
  const n = format.number(shown)
  return (
    <Text size="sm" c="dimmed" role="status">
      {!hasMore && t(shown === 1 ? 'devices.countOne' : 'devices.count', { n })}
      {hasMore && t('devices.countShown', { n })}
      {hasMore &&
        count &&
        ` ${t(count.exact ? 'devices.countAll' : 'devices.countAtLeast', { n: format.number(count.devices) })}`}
    </Text>
  )
}
