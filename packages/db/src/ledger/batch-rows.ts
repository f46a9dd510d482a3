import type { Channel, Lane, NewBatch } from '@herald/domain'
import { fields } from '../store/statement.ts'

/** A batch inside a JSON parameter. Lists are Postgres array literals, which are cast faster than JSON arrays. */
export type BatchRow = {
  channel: Channel
  certificate_id?: number
  topic?: string
  node?: string
  tried: string
  recipients: string
  size: number
}

export function batchRow(batch: NewBatch): BatchRow {
  return {
    channel: batch.channel,
    certificate_id: batch.certificateId,
    topic: batch.topic,
    node: batch.node,
    tried: idList(batch.tried),
    recipients: idList(batch.recipients),
    size: batch.recipients.length,
  }
}

/** A Postgres array literal; numbers and channel names need no quoting. */
export function idList(values: readonly (number | string)[]): string {
  return `{${values.join(',')}}`
}

/**
 * JSON has escapes for control characters; in an array literal a backslash only protects the next character. Also matches a backslash of
 * the text before one of these letters, which is rare.
 */
const MAY_HAVE_OTHER_ESCAPES = /\\[bfnrtu]/

/**
 * A parameter that is a list of texts; undefined is NULL. As a literal if it can be one: the driver would look at each character of each
 * text in JavaScript.
 */
export function textList(texts: readonly (string | undefined)[]): string | readonly (string | undefined)[] {
  const json = JSON.stringify(texts)
  return MAY_HAVE_OTHER_ESCAPES.test(json) ? texts : `{${json.slice(1, -1)}}`
}

/** Column list of `jsonb_to_recordset` for BatchRow. */
export const batchRecord =
  'channel text, certificate_id bigint, topic text, node text, tried text, recipients text, size int'

/** Inserts batches. `from` has their BatchRow as `b` and their task, with app_id, lane and deadline, as `task`. */
export function insertBatchesSql(insert: {
  from: string
  task: string
  taskId: string
  state: string
  /** When the devices were read. */
  plannedAt: string
  /** One more column, with its value. */
  extra?: [column: string, value: string]
}): string {
  const { from, task, taskId, state, plannedAt, extra } = insert
  return `INSERT INTO batch (task_id, app_id, channel, certificate_id, topic, node, lane, state, size, recipients, status, tried,
    deadline, planned_at${extra ? `, ${extra[0]}` : ''})
  SELECT ${taskId}, ${task}.app_id, b.channel, b.certificate_id, b.topic, b.node, ${task}.lane, ${state}, b.size,
    b.recipients::bigint[], repeat('.', b.size), b.tried::text[], ${task}.deadline, ${plannedAt}${extra ? `, ${extra[1]}` : ''}
  FROM ${from}`
}

/** Inserts inbox rows of devices `d`. `task` has id, app_id and deadline. */
export function insertInboxSql(task: string, plannedAt: string, from: string): string {
  return `INSERT INTO inbox (task_id, device_id, app_id, expires_at, planned_at)
  SELECT ${task}.id, d.id, ${task}.app_id, ${task}.deadline, ${plannedAt} FROM ${from}`
}

/** Inserts inbox rows of devices `d` that are no targets: the message went to their vendor. */
export function insertCopiesSql(task: string, plannedAt: string, from: string): string {
  return `INSERT INTO inbox (task_id, device_id, app_id, expires_at, planned_at, sent_at, is_copy)
  SELECT ${task}.id, d.id, ${task}.app_id, ${task}.deadline, ${plannedAt}, now(), true FROM ${from}`
}

/** A time in Unix µs; null is the present. */
export function timeOrNowSql(micros: string): string {
  return `coalesce(to_timestamp(${micros}::float8 / 1000000), now())`
}

/** The state of a batch that waits to be released, from its task `t`. */
export function waitingStateSql(t: string): string {
  return `CASE WHEN ${t}.paused THEN 'held' WHEN ${t}.speed IS NOT NULL THEN 'paced' ELSE 'ready' END`
}

/** The number of pending recipients in a batch's status. */
export function pendingSql(status: string): string {
  return `length(${status}) - length(replace(${status}, '.', ''))`
}

/** How long Herald tries to send a task. With ttl 0 no vendor and no inbox stores the message, but sending still takes a while. */
export const deliveryWindowSql = 'make_interval(secs => CASE ttl WHEN 0 THEN 60 ELSE ttl END)'

/** A released batch, with all that a job needs. */
export type ReleasedBatch = {
  taskId: number
  id: number
  channel: Channel
  certificateId: number | null
  node: string | null
  lane: Lane
  size: number
  /** Leases in a row that ended without a settle. */
  lost: number
  /** Unix ms by the database's clock. */
  releasedAt: number
  /** Set if it is a bundle, whose key is `taskId`: the certificates of its tasks. */
  certificateIds?: number[]
}

/** A released bundle as what `enqueue` takes. */
export function releasedBundle(
  bundle: Pick<ReleasedBatch, 'taskId' | 'channel' | 'lane' | 'size' | 'releasedAt'> & {
    certificateIds: readonly number[]
  },
): ReleasedBatch {
  const certificateIds = [...new Set(bundle.certificateIds)]
  return { ...bundle, id: 0, certificateId: null, node: null, lost: 0, certificateIds }
}

export const releasedBatch = fields<Omit<ReleasedBatch, 'certificateIds'>>({
  taskId: 'b.task_id',
  id: 'b.id',
  channel: 'b.channel',
  certificateId: 'b.certificate_id',
  node: 'b.node',
  lane: 'b.lane',
  size: 'b.size',
  lost: 'b.lost',
  releasedAt: '(extract(epoch FROM b.released_at) * 1000)::float8',
})

/**
 * The order of the index batch_ready, by which the first batches of a destination are found. The columns of the destination are part of
 * it: for Postgres `node IS NULL` does not fix the value of `node`, so by time alone it would read and sort all batches of a certificate.
 */
export const readyOrder = 'certificate_id, node, lane, not_before, task_id, id'
