import type { Channel, EventLevel, Message, MessageClass, SequenceWord } from '@herald/domain'
import { deliveryWindowSql } from '../ledger/batch-rows.ts'
import { memberSql } from '../ledger/bundled-tasks.ts'
import { addChecksSql } from '../ledger/counter-rows.ts'
import { movedAfterSql } from '../ledger/moved-devices.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { retrying } from '../store/errors.ts'
import { run } from '../store/statement.ts'
import { findByRequestIds } from './accept.ts'
import { leaveBundle } from './leave-bundle.ts'
import { requestSteps } from './requests.ts'
import { inScopeSql, type TaskScope } from './tasks.ts'

/** What a recall needs to know of the task that it recalls. */
export type RecallableTask = {
  taskId: number
  groupId?: number
  message: Message
  messageClass?: MessageClass
  sequence: SequenceWord[]
  ttl: number
  /**
   * Devices that it was sent to so far, by channel; channels without any are left out. `waiting`: those of the native channel whose message
   * waits for them.
   */
  sent: { channel: Channel; devices: number; waiting: number; certificateIds: number[] }[]
}

/** Undefined if the task does not exist in the scope. */
export async function recallable(
  db: Database,
  scope: TaskScope,
  id: number | bigint,
): Promise<RecallableTask | undefined> {
  const [row] = await runWithin<
    [
      id: number,
      groupId: number | null,
      message: Message,
      messageClass: MessageClass | null,
      sequence: SequenceWord[],
      ttl: number,
      sent: RecallableTask['sent'] | null,
    ]
  >(
    db.pool,
    daysOf([id]),
    'recallable',
    `SELECT t.id, t.group_id, t.message, t.message_class, t.sequence, t.ttl, CASE WHEN m.letter = 's'
       THEN json_build_array(json_build_object('channel', m.channel, 'devices', 1, 'waiting', 0, 'certificateIds', json_build_array(m.certificate_id)))
       ELSE (SELECT json_agg(json_build_object('channel', c.channel, 'devices', c.sent, 'waiting', w.waiting, 'certificateIds', coalesce((
           SELECT json_agg(DISTINCT b.certificate_id) FROM batch b
           WHERE b.task_id = c.task_id AND ${inDays('b.task_id')} AND b.channel = c.channel AND b.certificate_id IS NOT NULL), '[]'))
         ORDER BY c.channel)
       FROM counter c CROSS JOIN LATERAL (SELECT CASE WHEN c.channel = 'native'
           THEN c.target - c.sent - c.failed - c.moved - c.expired - c.cancelled ELSE 0 END AS waiting) w
       WHERE c.task_id = t.id AND ${inDays('c.task_id')} AND c.sent + w.waiting > 0) END
     FROM task t ${memberSql('t')} WHERE t.id = $1 AND ${inDays('t.id')} AND ${inScopeSql('t', '$2', '$3')}`,
    [String(id), scope.appId, scope.groupId ?? null],
  )
  if (!row) return undefined
  const [taskId, groupId, message, messageClass, sequence, ttl, sent] = row
  return {
    taskId,
    groupId: groupId ?? undefined,
    message,
    messageClass: messageClass ?? undefined,
    sequence,
    ttl,
    sent: sent ?? [],
  }
}

/** Steps that cancel what is left of the task $1; the first, `cancelled`, has its task_id. */
function cancelSteps(from = ''): string {
  return `cancelled AS (
       UPDATE task SET cancelling = true ${from}
       WHERE task.id = $1 AND ${inDays('task.id')} AND state IN ('accepted', 'planning', 'sending')
       RETURNING task.id AS task_id
     ), checks AS (
       ${addChecksSql('SELECT task_id FROM cancelled')}
     )`
}

/**
 * Cancels what is left of the first task and adds the task that recalls it, with its entry in the audit: one statement, so that no crash
 * leaves a part of it. The planner begins the recall when the first task has ended. The lane is decided then. With a request id that was
 * used before it writes nothing, and returns the task that used it. A scheduled task that begins in between is in a bundle, where it
 * cannot be cancelled: it leaves that afterwards. If the process ends before, it is sent first and recalled then.
 */
export async function addRecall(
  db: Database,
  scope: TaskScope,
  first: RecallableTask,
  message: Message,
  by: {
    actor: string
    detail: Record<string, string | number | boolean | null>
    requestId?: string
    events?: EventLevel
  },
): Promise<{ taskId: number; fresh: boolean }> {
  // If it is still in a bundle afterwards, it has been sent.
  await leaveBundle(db, first.taskId)
  const [[recallId]] = (await run<[number]>(db.pool, 'task-id', 'SELECT next_task_id()', [])) as [[number]]
  const [added] = await runWithin<[recallId: number, isCancelled: boolean]>(
    db.pool,
    daysOf([first.taskId, recallId]),
    'add-recall',
    `WITH input AS (
       SELECT $2::bigint AS id, $3::text AS app_id, $12::text AS request_id
     ), ${requestSteps('input')}, fresh AS MATERIALIZED (
       SELECT id FROM input WHERE request_id IS NULL OR id IN (SELECT task_id FROM fresh_request)
     ), ${cancelSteps('FROM fresh')}, audited AS (
       INSERT INTO audit (app_id, actor, action, detail)
       SELECT $3, $10, 'task.recall', $11::jsonb || jsonb_build_object('task_id', $1::bigint, 'recall_id', id) FROM fresh
     )
     INSERT INTO task (id, app_id, group_id, request_id, state, audience, strategy, sequence, message, message_class, lane, lane_fixed, ttl, begin_at,
       show_end, unreachable, speed_at, actor, address, events, wide)
     SELECT id, $3, $4::bigint, $12, 'accepted', $5::json, 'nativepush_only', $6::text[], $7::json, $8, 'high', false, $9::int, now(), to_timestamp($14::float8), 0, now(), $10,
       $11::jsonb ->> 'address', $13::smallint, coalesce((SELECT f.wide FROM task f WHERE f.id = $1 AND ${inDays('f.id')}), true)
     FROM fresh RETURNING id, EXISTS (SELECT 1 FROM cancelled)`,
    [
      first.taskId,
      recallId,
      scope.appId,
      first.groupId ?? null,
      JSON.stringify({ kind: 'recall', taskId: first.taskId }),
      first.sequence,
      JSON.stringify(message),
      first.messageClass ?? null,
      first.ttl,
      by.actor,
      JSON.stringify(by.detail),
      by.requestId ?? null,
      by.events ?? 0,
      message.showEnd,
    ],
  )
  if (added) {
    // The recall is committed: an error here must not make the caller add another one. The planner begins it when the first task has ended,
    // whether or not this cancelled what was left of it.
    if (!added[1]) await cancelBundled(db, first.taskId).catch(() => {})
    return { taskId: recallId, fresh: true }
  }
  const [taskId] = await findByRequestIds(db, scope.appId, [by.requestId!])
  if (taskId === undefined) throw new Error('a recall was neither added nor found by its request id')
  return { taskId, fresh: false }
}

/** Nothing happens to a task that has ended. */
async function cancelBundled(db: Database, taskId: number): Promise<void> {
  await leaveBundle(db, taskId)
  const text = `WITH ${cancelSteps()} SELECT 1`
  await retrying(() => runWithin(db.pool, daysOf([taskId]), 'cancel-bundled', text, [taskId]))
}

/** The slices of a recall: batches of vendors by their ids, devices of the native channel by theirs. */
export const recallSlices = { vendors: 1, native: 2 } as const
/** Batches of the first task per page, to begin with. */
const FIRST_WIDTH = 16

/**
 * Begins to plan a recall, if the first task has ended: until then its workers may still send. Copies of its message that wait in inboxes
 * are deleted. Returns whether it was begun.
 */
export async function beginRecall(db: Database, recallId: number, firstId: number): Promise<boolean> {
  const rows = await runWithin(
    db.pool,
    daysOf([firstId, recallId]),
    'begin-recall',
    `WITH waiting AS MATERIALIZED (
       SELECT t.id FROM task t WHERE t.id = $1 AND ${inDays('t.id')} AND t.state = 'accepted' AND NOT t.cancelling
         AND NOT EXISTS (SELECT 1 FROM task f ${memberSql('f')} WHERE f.id = $2 AND ${inDays('f.id')}
           AND (f.state NOT IN ('finished', 'cancelled', 'bundled') OR m.letter = '.'))
       FOR UPDATE OF t SKIP LOCKED
     ), begun AS (
       UPDATE task SET state = 'planning', deadline = LEAST(now() + ${deliveryWindowSql}, show_end), speed_at = now(),
         lane = CASE WHEN (SELECT sum(c.sent) FROM counter c WHERE c.task_id = $2 AND ${inDays('c.task_id')}) > 1000 THEN 'normal' ELSE 'high' END
       FROM waiting w WHERE task.id = w.id AND ${inDays('task.id')} RETURNING task.id
     ), copies AS (
       DELETE FROM inbox i USING begun WHERE i.task_id = $2 AND ${inDays('i.task_id')} AND i.is_copy
     ), slices AS (
       INSERT INTO slice (task_id, no, hi, cursor, width)
       SELECT g.id, ${recallSlices.vendors}, max(b.id) + 1, min(b.id), ${FIRST_WIDTH} FROM begun g
         JOIN batch b ON b.task_id = $2 AND ${inDays('b.task_id')} AND b.channel <> 'native' GROUP BY g.id
       UNION ALL
       SELECT g.id, ${recallSlices.vendors}, 1, 0, ${FIRST_WIDTH} FROM begun g
         JOIN task f ON f.id = $2 AND ${inDays('f.id')} AND f.state = 'bundled'
       UNION ALL
       SELECT g.id, ${recallSlices.native}, max(d.hi) + 1, min(d.lo), ${FIRST_WIDTH * 1000} FROM begun g, (
         SELECT lo, hi FROM batch b WHERE b.task_id = $2 AND ${inDays('b.task_id')} AND b.channel = 'native'
         UNION ALL SELECT device_id, device_id FROM inbox i WHERE i.task_id = $2 AND ${inDays('i.task_id')} AND NOT i.is_copy
         UNION ALL SELECT device_id, device_id FROM receipt r WHERE r.task_id = $2 AND ${inDays('r.task_id')} AND r.channel = 'native'
       ) d GROUP BY g.id
     )
     SELECT id FROM begun`,
    [recallId, firstId],
  )
  return rows.length > 0
}

/** The recipients of a batch that were sent to. */
export type SentBatch = {
  channel: Channel
  certificateId: number | null
  topic: string | null
  /** Ascending. */
  recipients: number[]
}

/** Batches per page: as many recipients as a page of a broadcast has devices. */
const MAX_BATCHES = 20

/** Devices that got another user after they were planned: a replacement is not for them. Removed and disabled ones are left out always. */
type SentRange = { lo: number; hi: number; withMoved: boolean }

/** Returns what the vendors were sent of the batches with ids from `lo` to below `hi`; undefined if there are too many. */
export async function sentToVendors(
  db: Database,
  firstId: number,
  { lo, hi, withMoved }: SentRange,
): Promise<SentBatch[] | undefined> {
  const rows = await runWithin<
    [channel: Channel, certificateId: number | null, topic: string | null, recipients: number[]]
  >(
    db.pool,
    daysOf([firstId]),
    'sent-to-vendors',
    `SELECT b.channel, b.certificate_id, b.topic, ARRAY(
       SELECT d.id FROM unnest(b.recipients) WITH ORDINALITY AS r (id, n) JOIN device d ON d.id = r.id
       WHERE substr(b.status, r.n::int, 1) = 's' AND d.enabled AND ($4 OR NOT ${movedAfterSql('d', 'b.planned_at')}) ORDER BY d.id)
     FROM (
       SELECT b.id, b.channel, b.certificate_id, b.topic, b.recipients, b.status, b.planned_at FROM batch b WHERE b.task_id = $1 AND ${inDays('b.task_id')} AND b.id >= $2 AND b.id < $3 AND b.channel <> 'native'
       AND position('s' IN b.status) > 0
       UNION ALL SELECT 0, m.channel, m.certificate_id, NULL, ARRAY[m.device_id], m.letter, m.planned_at
       FROM task t ${memberSql('t')} WHERE t.id = $1 AND ${inDays('t.id')} AND $2 = 0 AND m.letter = 's'
     ) b
     ORDER BY b.id LIMIT ${MAX_BATCHES + 1}`,
    [firstId, lo, hi, withMoved],
  )
  if (rows.length > MAX_BATCHES) return undefined
  return rows.map(([channel, certificateId, topic, recipients]) => ({
    channel,
    certificateId,
    topic,
    recipients,
  }))
}

/**
 * Returns the devices with ids from `lo` to below `hi` to which the message was written on the native channel: those of batches, those that
 * have not acknowledged it, and those that have; undefined if there are more than `max`.
 */
export async function sentNatively(
  db: Database,
  firstId: number,
  { lo, hi, withMoved, max }: SentRange & { max: number },
): Promise<number[] | undefined> {
  const rows = await runWithin<[number]>(
    db.pool,
    daysOf([firstId]),
    'sent-natively',
    `WITH sent AS (
       SELECT r.id FROM batch b CROSS JOIN LATERAL unnest(b.recipients) WITH ORDINALITY AS r (id, n)
       WHERE b.task_id = $1 AND ${inDays('b.task_id')} AND b.channel = 'native' AND b.lo < $3 AND b.hi >= $2
         AND r.id >= $2 AND r.id < $3 AND substr(b.status, r.n::int, 1) = 's'
       UNION SELECT i.device_id FROM inbox i WHERE i.task_id = $1 AND ${inDays('i.task_id')} AND i.device_id >= $2 AND i.device_id < $3
         AND i.sent_at IS NOT NULL AND NOT i.is_copy
       UNION SELECT r.device_id FROM receipt r WHERE r.task_id = $1 AND ${inDays('r.task_id')} AND r.device_id >= $2 AND r.device_id < $3
         AND r.channel = 'native'
     )
     SELECT d.id FROM sent s JOIN device d ON d.id = s.id JOIN task t ON t.id = $1 AND ${inDays('t.id')}
     WHERE d.enabled AND ($4 OR NOT ${movedAfterSql('d', 't.begin_at')}) ORDER BY d.id LIMIT ${max + 1}`,
    [firstId, lo, hi, withMoved],
  )
  return rows.length > max ? undefined : rows.map(([id]) => id)
}
