import type { DeviceFilter } from '../../api/calls.ts'

/** The audience that a search selects, to count it; undefined for searches that find one device. */
export function audienceOf({ tag, alias, user_id, device_guid, token }: DeviceFilter) {
  if (tag !== undefined) return { tag: [tag] }
  if (alias !== undefined) return { alias: [alias] }
  if (user_id !== undefined) return { user_id: [user_id] }
  return device_guid === undefined && token === undefined ? ('all' as const) : undefined
}
