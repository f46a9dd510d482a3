import type { DeviceFilter } from '../../api/calls.ts'

const fields = {
  byGuid: 'device_guid',
  byAlias: 'alias',
  byTag: 'tag',
  byUser: 'user_id',
  byToken: 'token',
} as const satisfies Record<string, keyof DeviceFilter>

export type SearchKind = keyof typeof fields
export const searchKinds = Object.keys(fields) as SearchKind[]

/** Reads a search from the URL. Without a value it matches all devices. */
export function parseSearch(
  by: string | null,
  value: string | null,
): { by: SearchKind; value: string; fields: DeviceFilter } {
  const kind = searchKinds.find((known) => known === by) ?? 'byGuid'
  const text = value?.trim() ?? ''
  return { by: kind, value: text, fields: text === '' ? {} : { [fields[kind]]: text } }
}
