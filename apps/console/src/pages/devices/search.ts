import type { DeviceWish } from '../../api/calls.ts'

const fields = {
  byGuid: 'device_guid',
  byAlias: 'alias',
  byTag: 'tag',
  byUser: 'user_id',
  byToken: 'token',
} as const satisfies Record<string, keyof DeviceWish>

export type SearchKind = keyof typeof fields
export const searchKinds = Object.keys(fields) as SearchKind[]

/** A search as it stands in the address; what the address does not say lists everything. */
export function wishOf(
  by: string | null,
  value: string | null,
): { by: SearchKind; value: string; fields: DeviceWish } {
  const kind = searchKinds.find((known) => known === by) ?? 'byGuid'
  const text = value?.trim() ?? ''
  return { by: kind, value: text, fields: text === '' ? {} : { [fields[kind]]: text } }
}
