import type { Channel } from '@herald/domain'
import { memberSql } from '../ledger/bundled-tasks.ts'
import type { Database } from '../store/database.ts'
import { type Days, daysOf, inDays, runWithin } from '../store/days.ts'
import { indexesOnly, inUncheckedTransaction, type Runner } from '../store/statement.ts'
import { firstLoSql } from '../tasks/receipts.ts'
import type { Place, TaskFacts, Why } from './path.ts'

export type PlaceKey = { taskId: number; deviceId: number }
/** All places of a device in a task. */
export type Places = PlaceKey & { task: TaskFacts; places: Place[] }

export type PlaceRow = [
  taskId: number,
  deviceId: number,
  paused: boolean,
  kind: Place['kind'],
  channel: Channel | null,
  letter: string | null,
  id: number | null,
  state: string | null,
  at: number | null,
  other: number | null,
  third: number | null,
  afterNative: boolean | null,
  whys: Why[] | null,
]

/** Returns the places of devices in tasks of which they are recipients; other pairs are left out. In the order of the tasks and devices. */
export async function readPlaces(db: Database, keys: readonly PlaceKey[]): Promise<Places[]> {
  if (keys.length === 0) return []
  const days = daysOf(keys.map(({ taskId }) => taskId))
  return inUncheckedTransaction(db, (runner) => placesWithin(runner, days, keys), indexesOnly)
}

/** The same for tasks of these days, in a transaction that begins with `indexesOnly`. */
export async function placesWithin(runner: Runner, days: Days, keys: readonly PlaceKey[]): Promise<Places[]> {
  if (keys.length === 0) return []
  const rows = await runWithin<PlaceRow>(runner, days, 'places', placesSql, [
    keys.map(({ taskId }) => taskId),
    keys.map(({ deviceId }) => deviceId),
  ])
  const byKey = new Map<string, Places>()
  for (const row of rows) {
    const [taskId, deviceId, paused] = row
    const key = `${taskId}/${deviceId}`
    let found = byKey.get(key)
    if (!found) {
      found = { taskId, deviceId, task: { paused }, places: [] }
      byKey.set(key, found)
    }
    found.places.push(placeOf(row))
  }
  return [...byKey.values()].sort((a, b) => a.taskId - b.taskId || a.deviceId - b.deviceId)
}

export function placeOf([
  ,
  ,
  ,
  kind,
  channel,
  letter,
  id,
  state,
  at,
  other,
  third,
  afterNative,
  whys,
]: PlaceRow): Place {
  switch (kind) {
    case 'batch':
    case 'bundle':
      return {
        kind,
        channel: channel!,
        letter: letter!,
        id: id!,
        state: state!,
        at,
        notBefore: other,
        afterNative: afterNative ?? false,
        whys: whys ?? [],
      }
    case 'record':
      return { kind, letter: letter!, at, whys: whys ?? [] }
    case 'inbox':
      return { kind, plannedAt: at!, sentAt: other, fallbackAt: third }
    case 'receipt':
      return { kind, channel: channel!, receivedAt: at!, clickedAt: other }
  }
}

/** A time as Unix ms. */
export const ms = (time: string) => `(extract(epoch FROM ${time}) * 1000)::float8`

/** The entries of `whys` that apply to the place `nth`, counted from 1. */
export const whysAtSql = (whys: string, nth: string) =>
  `CASE WHEN ${whys} IS NOT NULL THEN jsonb_path_query_array(${whys}, '$[*] ? (!exists(@.p) || @.p[*] == $n)', jsonb_build_object('n', ${nth} - 1)) END`

/** The batches `b` of a task, on the channel of its counter `c`, whose ranges of ids may contain the device. */
export function inRangeSql(task: string, device: string): string {
  return `b.task_id = ${task} AND b.channel = c.channel AND b.lo BETWEEN ${firstLoSql(device)} AND ${device}`
}

// Batches are found as in receipts.ts; records have no counter that bounds `lo`, but there are few of them, and only of inboxes.
const placesSql = `
SELECT k.task_id, k.device_id, t.paused, p.* FROM unnest($1::bigint[], $2::bigint[]) AS k (task_id, device_id)
JOIN task t ON t.id = k.task_id AND ${inDays('t.id')} ${memberSql('t')}
CROSS JOIN LATERAL (
  SELECT 'batch' AS kind, b.channel, substr(b.status, b.nth, 1) AS letter, b.id, b.state, ${ms('b.settled_at')} AS at,
    ${ms('b.not_before')} AS other, NULL::float8 AS third, 'native' = ANY (b.tried), ${whysAtSql('b.whys', 'b.nth')} AS whys
  FROM counter c CROSS JOIN LATERAL (
    SELECT b.channel, b.status, b.id, b.state, b.settled_at, b.not_before, b.tried, b.whys, array_position(b.recipients, k.device_id) AS nth
    FROM batch b WHERE ${inRangeSql('k.task_id', 'k.device_id')} AND ${inDays('b.task_id')}
      AND b.hi >= k.device_id AND NOT b.is_record
  ) b WHERE c.task_id = k.task_id AND ${inDays('c.task_id')} AND b.nth IS NOT NULL
  UNION ALL
  SELECT 'bundle', m.channel, m.letter, 0, 'released', CASE WHEN m.letter = 's' THEN ${ms('m.settled_at')} END, NULL, NULL, NULL, NULL
  WHERE m.device_id = k.device_id
  UNION ALL
  SELECT 'record', 'native', substr(r.status, r.nth, 1), r.id, 'settled', ${ms('r.settled_at')}, NULL, NULL, NULL, ${whysAtSql('r.whys', 'r.nth')}
  FROM (SELECT r.*, array_position(r.recipients, k.device_id) AS nth FROM batch r
    WHERE r.task_id = k.task_id AND ${inDays('r.task_id')} AND r.is_record AND r.lo <= k.device_id AND r.hi >= k.device_id) r
  WHERE r.nth IS NOT NULL
  UNION ALL
  SELECT 'inbox', NULL, NULL, NULL, NULL, ${ms('i.planned_at')}, ${ms('i.sent_at')}, ${ms('i.fallback_at')}, NULL, NULL FROM inbox i
  WHERE i.task_id = k.task_id AND i.device_id = k.device_id AND ${inDays('i.task_id')} AND NOT i.is_copy
  UNION ALL
  SELECT 'receipt', r.channel, NULL, NULL, NULL, ${ms('r.received_at')}, ${ms('r.clicked_at')}, NULL, NULL, NULL FROM receipt r
  WHERE r.task_id = k.task_id AND r.device_id = k.device_id AND ${inDays('r.task_id')}
) p`
