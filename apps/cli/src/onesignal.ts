import type { DeviceChange, Platform, Provider } from '@herald/client'
import { CsvProblem, type CsvRecord } from './csv-records.ts'

/** Platform and number of the vendor by OneSignal's `device_type`; its other types are web browsers, email addresses and telephone numbers. */
const kinds: Record<string, { platform: Platform; provider: Provider }> = {
  '0': { platform: 'ios', provider: 1 },
  '1': { platform: 'android', provider: 7 },
  '13': { platform: 'android', provider: 2 },
}
const needed = ['id', 'identifier', 'device_type']
/** Limits of Herald. */
const MAX_TAGS = 100
const MAX_TAG = 64

/** Why a row has no device to import. */
export type Skipped = 'other kind' | 'unsubscribed' | 'no token'

/** Why a device is imported without some or all tags of its row. */
export type LostTags = 'cut' | 'unreadable'

/** Reads rows of OneSignal's CSV export by the names in its first row. */
function readOneSignal(
  header: readonly string[],
  lose: (why: LostTags) => void,
): (fields: readonly string[]) => DeviceChange | Skipped {
  const names = header.map((name) => name.trim().replace(/^\uFEFF/, ''))
  for (const name of needed) {
    if (!names.includes(name))
      throw new CsvProblem(`The first line has no column ${name}: is it a CSV export of OneSignal?`)
  }
  return (fields) => {
    const value = (name: string) => fields[names.indexOf(name)]?.trim() ?? ''
    const kind = kinds[value('device_type')]
    if (!kind) return 'other kind'
    if (/^t(rue)?$/i.test(value('invalid_identifier')) || value('notification_types').startsWith('-'))
      return 'unsubscribed'
    if (value('identifier') === '') return 'no token'
    const alias = value('external_user_id')
    const timezone = value('timezone_id')
    const { tags, lost } = tagsOf(value('tags'))
    if (lost) lose(lost)
    return {
      device_guid: value('id'),
      platform: kind.platform,
      ...(alias && { alias }),
      ...(tags && { tags }),
      bindings: [{ provider: kind.provider, device_token: value('identifier') }],
      ...(value('language') && { locale: value('language') }),
      ...(timezone && { timezone }),
      ...(value('game_version') && { app_version: value('game_version') }),
    }
  }
}

/** OneSignal's tags are keys with values: `{"plan":"gold"}` becomes the tag `plan:gold`. Without `tags` a known device keeps its own. */
function tagsOf(text: string): { tags?: string[]; lost?: LostTags } {
  if (text === '') return { tags: [] }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { lost: 'unreadable' }
  }
  if (typeof value !== 'object' || value === null) return { lost: 'unreadable' }
  const all = Object.entries(value).map(([key, entry]) => `${key}:${entry}`)
  const tags = all.filter((tag) => [...tag].length <= MAX_TAG).slice(0, MAX_TAGS)
  return { tags, lost: tags.length < all.length ? 'cut' : undefined }
}

/**
 * Converts an export to NDJSON. A line of the result stands where its row stands in the file, so that line numbers of errors are those
 * of the file; rows that are skipped become blank lines.
 */
export async function* oneSignalLines(
  records: AsyncIterable<CsvRecord>,
  skip: (why: Skipped) => void,
  lose: (why: LostTags) => void,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  let read: ReturnType<typeof readOneSignal> | undefined
  let text = ''
  for await (const { fields, lines } of records) {
    if (!read) read = readOneSignal(fields, lose)
    else if (fields.length > 1) {
      const device = read(fields)
      if (typeof device === 'string') skip(device)
      else text += JSON.stringify(device)
    }
    text += '\n'.repeat(lines)
    if (text.length < 64 * 1024) continue
    yield encoder.encode(text)
    text = ''
  }
  if (text !== '') yield encoder.encode(text)
}
