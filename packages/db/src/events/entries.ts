import { type Channel, channels, publicName } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'
import { entryId } from './position.ts'
import type { StoredEvent } from './read-events.ts'

/** A device as entries show it. */
export type EventDevice = {
  guid: string
  userId: number | null
  username: string | null
  alias: string | null
  /** Unix ms: what was before concerns another owner. */
  movedAt: number
}

/** Reads the devices that still exist. */
export async function devicesOfEvents(
  db: Database,
  appId: string,
  ids: readonly number[],
): Promise<Map<number, EventDevice>> {
  if (ids.length === 0) return new Map()
  type Row = [id: number, string, number | null, string | null, string | null, number]
  const rows = await run<Row>(
    db.pool,
    'devices-of-events',
    `SELECT d.id, d.guid, d.user_id, u.username, d.alias, (extract(epoch FROM d.moved_at) * 1000)::float8
     FROM device d LEFT JOIN app_user u ON u.id = d.user_id
     WHERE d.id = ANY ($2::bigint[]) AND d.app_id = $1`,
    [appId, ids],
  )
  return new Map(
    rows.map(([id, guid, userId, username, alias, movedAt]) => [
      id,
      { guid, userId, username, alias, movedAt },
    ]),
  )
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
    const guid = `,"device_guid":${JSON.stringify(device.guid)}`
    if (device.movedAt > event.at) return `${head}${guid}}`
    const user = device.userId === null ? '' : `,"user_id":${device.userId}`
    const name = device.username === null ? '' : `,"username":${JSON.stringify(device.username)}`
    const alias = device.alias === null ? '' : `,"alias":${JSON.stringify(device.alias)}`
    return `${head}${guid}${user}${name}${alias}}`
  }
}

function channelText(channel: unknown): unknown {
  return channels.includes(channel as Channel) ? publicName(channel as Channel) : (channel ?? undefined)
}
