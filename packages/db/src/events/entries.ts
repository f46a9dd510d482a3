import { type Channel, channels, publicName } from '@herald/domain'
import { idList } from '../ledger/batch-rows.ts'
import { movedAfterSql } from '../ledger/moved-devices.ts'
import type { Database } from '../store/database.ts'
import { runColumns } from '../store/text-columns.ts'
import { entryId } from './position.ts'
import type { StoredEvent } from './read-events.ts'

/** A device as entries show it. */
export type EventDevice = {
  guid: string
  /** A 64-bit integer in decimal. */
  userId: string | null
  username: string | null
  alias: string | null
  /** Unix ms: what was before concerns another owner. 0 if that was before all of the events, or if there was none. */
  movedAt: number
}

/** Reads the devices that still exist. `since` is the time of the first of the events, in Unix ms. */
export async function devicesOfEvents(
  db: Database,
  appId: string,
  ids: readonly number[],
  since: number,
): Promise<Map<number, EventDevice>> {
  const devices = new Map<number, EventDevice>()
  if (ids.length === 0) return devices
  const [found, guids, users, usernames, aliases, moved] = await runColumns(
    db.pool,
    'devices-of-events',
    // Few have moved since, and a time in milliseconds takes longer to compute than the rest of the row.
    [
      'd.id',
      'd.guid',
      'd.user_id',
      'u.username',
      'd.alias',
      `CASE WHEN ${movedAfterSql('d', 'to_timestamp($3::float8 / 1000 - 0.01)')} THEN (extract(epoch FROM d.moved_at) * 1000)::float8 END`,
    ],
    `FROM device d LEFT JOIN app_user u ON u.id = d.user_id
     WHERE d.id = ANY ($2::bigint[]) AND d.app_id = $1`,
    // As one text: the driver would quote each number.
    [appId, idList(ids), since],
  )
  for (let i = 0; i < found.length; i++)
    devices.set(Number(found[i]), {
      guid: guids[i]!,
      userId: users[i] || null,
      username: usernames[i] || null,
      alias: aliases[i] || null,
      movedAt: Number(moved[i]),
    })
  return devices
}

/** When the first of the events happened: not always the one with the first id. */
export function firstAt(events: readonly Pick<StoredEvent, 'at'>[]): number {
  return events.reduce((first, { at }) => Math.min(first, at), Number.MAX_SAFE_INTEGER)
}

/** The number of entries of an event. */
export function entriesOf({ devices }: Pick<StoredEvent, 'devices'>): number {
  return devices === null || devices.length === 0 ? 1 : devices.length
}

/**
 * Returns a function that writes the entries of an event as JSON, by their place in it. Built from text, because a thousand entries of an
 * event differ only in their ids and devices.
 */
export function entryWriter(event: StoredEvent, devices: ReadonlyMap<number, EventDevice>) {
  const { channel, ...detail } = event.detail ?? {}
  const shared = JSON.stringify({
    type: event.kind,
    at: Math.floor(event.at / 1000),
    task_id: event.taskId ?? undefined,
    campaign: event.campaign ?? undefined,
    channel: channelText(event.channel ?? channel),
    code: event.code ?? undefined,
    reason: event.text ?? undefined,
    ...detail,
  }).slice(1, -1)
  return (part: number): string => {
    const head = `{"id":"${entryId(event.id, part)}",${shared}`
    const device = event.devices?.length ? devices.get(event.devices[part]!) : undefined
    if (!device) return `${head}}`
    const guid = `,"device_guid":${quoted(device.guid)}`
    if (device.movedAt > event.at) return `${head}${guid}}`
    const user = device.userId === null ? '' : `,"user_id":${device.userId}`
    const name = device.username === null ? '' : `,"username":${quoted(device.username)}`
    const alias = device.alias === null ? '' : `,"alias":${quoted(device.alias)}`
    return `${head}${guid}${user}${name}${alias}}`
  }
}

const NEEDS_ESCAPES = /[^\u0020\u0021\u0023-\u005b\u005d-\u007e]/

/** A text in JSON. Most names are letters and digits, for which JSON.stringify takes several times as long. */
function quoted(text: string): string {
  return NEEDS_ESCAPES.test(text) ? JSON.stringify(text) : `"${text}"`
}

function channelText(channel: unknown): unknown {
  return channels.includes(channel as Channel) ? publicName(channel as Channel) : (channel ?? undefined)
}
