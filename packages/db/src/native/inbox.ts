import { after, countAndCheckSql } from '../ledger/counter-rows.ts'
import { inboxSize } from '../ledger/inbox-clearing.ts'
import { movedAfterSql } from '../ledger/moved-devices.ts'
import { addEventsSql } from '../ledger/outbox-rows.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin, searchWithin } from '../store/days.ts'
import { openDays } from '../store/open-days.ts'
import { inTransaction } from '../store/statement.ts'

/** A message in the inbox of a device. */
export type WaitingMessage = {
  deviceId: number
  taskId: number
  /** Written to a connection before, but not acknowledged. */
  sent: boolean
}

/** Inboxes above `inboxSize` are trimmed rarely: thousands of devices could have millions of messages. */
const MAX_ROWS = 20_000

/**
 * Returns the messages for these devices, oldest first, without those of paused and cancelled tasks, those planned for a former
 * owner and those of disabled devices. `full` lists the devices with more than `inboxSize` messages, paused and cancelled ones included; if
 * the devices have `maxRows` messages or more, only the newest of these are returned.
 */
export async function waitingInbox(
  db: Database,
  deviceIds: readonly number[],
  maxRows = MAX_ROWS,
): Promise<{ waiting: WaitingMessage[]; full: number[] }> {
  const days = await openDays(db)
  let rows = await runWithin<InboxRow>(db.pool, days, 'waiting-inbox', waitingSql, [deviceIds, maxRows])
  if (rows.length >= maxRows)
    rows = await searchWithin<InboxRow>(db, days, 'newest-inbox', newestSql, [deviceIds])
  const counts = new Map<number, number>()
  for (const [deviceId] of rows) counts.set(deviceId, (counts.get(deviceId) ?? 0) + 1)
  const sendable = await sendableTasks(db, [...new Set(rows.map(([, taskId]) => taskId))])
  const waiting = rows
    .filter(([, taskId]) => sendable.has(taskId))
    .map(([deviceId, taskId, sent]): WaitingMessage => ({ deviceId, taskId, sent }))
  waiting.sort((a, b) => a.deviceId - b.deviceId || a.taskId - b.taskId)
  return { waiting, full: [...counts].filter(([, count]) => count > inboxSize).map(([deviceId]) => deviceId) }
}

type InboxRow = [deviceId: number, taskId: number, sent: boolean]

const waitingSql = `SELECT i.device_id, i.task_id, i.sent_at IS NOT NULL FROM inbox i JOIN device d ON d.id = i.device_id
     WHERE i.device_id = ANY($1::bigint[]) AND ${inDays('i.task_id')} AND i.expires_at > now() AND NOT ${movedAfterSql('d', 'i.planned_at')} AND d.enabled
     LIMIT $2`
// Only if there are many: it searches the index of each day once per device, which takes a hundred times as long if most have no messages.
const newestSql = `SELECT d.id, i.task_id, i.sent FROM device d CROSS JOIN LATERAL (
       SELECT task_id, sent_at IS NOT NULL AS sent FROM inbox
       WHERE device_id = d.id AND ${inDays('task_id')} AND expires_at > now() AND NOT ${movedAfterSql('d', 'planned_at')}
       ORDER BY task_id DESC LIMIT ${inboxSize + 1}
     ) i WHERE d.id = ANY($1::bigint[]) AND d.enabled`

/** Not joined with the messages: of most devices there are none, and a statement that opens tasks and inboxes of all open days takes twice as long. */
async function sendableTasks(db: Database, taskIds: readonly number[]): Promise<Set<number>> {
  if (taskIds.length === 0) return new Set()
  const rows = await runWithin<[number]>(
    db.pool,
    daysOf(taskIds),
    'sendable-tasks',
    `SELECT id FROM task WHERE id = ANY($1::bigint[]) AND ${inDays('id')} AND NOT paused AND NOT cancelling`,
    [taskIds],
  )
  return new Set(rows.map(([id]) => id))
}

/**
 * Locks messages that were not sent yet, lets `write` write them to connections, and counts those that it returns as sent, in one
 * transaction: they cannot be cancelled, expire or move in between. `write` must not wait. Messages locked by others are left out.
 * `fallbackIn`: seconds that a device of a `combined` task has to acknowledge; null = no limit.
 */
export async function sendFromInbox(
  db: Database,
  wanted: readonly WaitingMessage[],
  fallbackIn: number | null,
  write: (messages: WaitingMessage[]) => WaitingMessage[],
): Promise<number> {
  return inTransaction(db, async (runner) => {
    const locked = await runWithin<[number, number]>(
      runner,
      daysOf(wanted.map((w) => w.taskId)),
      'lock-inbox',
      `SELECT i.device_id, i.task_id FROM inbox i
       JOIN unnest($1::bigint[], $2::bigint[]) AS w (task_id, device_id) USING (task_id, device_id)
       JOIN task t ON t.id = i.task_id JOIN device d ON d.id = i.device_id
       WHERE ${inDays('i.task_id')} AND ${inDays('t.id')} AND i.sent_at IS NULL AND i.expires_at > now() AND NOT t.paused AND NOT t.cancelling
         AND NOT ${movedAfterSql('d', 'i.planned_at')} AND d.enabled
       ORDER BY i.device_id, i.task_id FOR UPDATE OF i SKIP LOCKED`,
      [wanted.map((w) => w.taskId), wanted.map((w) => w.deviceId)],
    )
    const written = write(locked.map(([deviceId, taskId]) => ({ deviceId, taskId, sent: false })))
    if (written.length === 0) return 0
    await runWithin(
      runner,
      daysOf(written.map((w) => w.taskId)),
      'sent-from-inbox',
      `WITH sent AS (
         UPDATE inbox i SET sent_at = now(),
           fallback_at = CASE WHEN t.strategy = 'combined' THEN now() + make_interval(secs => $3) END
         FROM unnest($1::bigint[], $2::bigint[]) AS w (task_id, device_id) JOIN task t ON t.id = w.task_id
         WHERE ${inDays('i.task_id')} AND ${inDays('t.id')} AND i.task_id = w.task_id AND i.device_id = w.device_id AND i.sent_at IS NULL
         RETURNING i.task_id, i.device_id, t.events
       ), ${countAndCheckSql(['sent'], `SELECT task_id, 'native' AS channel, 1 AS sent FROM sent`)}, told AS (
         ${addEventsSql(
           `SELECT task_id, 'native' AS channel, 'device.sent' AS kind, NULL::text AS code, NULL::text AS text, device_id FROM sent
           WHERE events = 2`,
           after('counted'),
         )}
       )
       SELECT`,
      [written.map((w) => w.taskId), written.map((w) => w.deviceId), fallbackIn],
    )
    return written.length
  })
}
