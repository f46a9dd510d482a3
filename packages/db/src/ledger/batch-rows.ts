import type { Channel, Lane, NewBatch } from '@herald/domain'

/** A batch as it travels inside a JSON parameter; lists are Postgres array literals, which cast faster than JSON arrays. */
export type BatchRow = {
  channel: Channel
  certificate_id: number | null
  topic: string | null
  node: string | null
  tried: string
  recipients: string
  size: number
}

export function batchRow(batch: NewBatch): BatchRow {
  return {
    channel: batch.channel,
    certificate_id: batch.certificateId ?? null,
    topic: batch.topic ?? null,
    node: batch.node ?? null,
    tried: idList(batch.tried),
    recipients: idList(batch.recipients),
    size: batch.recipients.length,
  }
}

/** Numbers and channel names need no quoting. */
export function idList(values: readonly (number | string)[]): string {
  return `{${values.join(',')}}`
}

/** Column list of `jsonb_to_recordset` for BatchRow. */
export const batchRecord =
  'channel text, certificate_id bigint, topic text, node text, tried text, recipients text, size int'

/**
 * How long Herald tries to hand a message over, from `ttl`. With ttl 0 no vendor stores it and no inbox keeps it; reaching who
 * is there now takes a moment all the same.
 */
export const handOverTime = 'make_interval(secs => CASE ttl WHEN 0 THEN 60 ELSE ttl END)'

/** A batch that a job can name. */
export type ReleasedBatch = {
  taskId: number
  id: number
  channel: Channel
  certificateId: number | null
  node: string | null
  lane: Lane
  size: number
}

export type ReleasedRow = [
  taskId: number,
  id: number,
  channel: Channel,
  certificateId: number | null,
  node: string | null,
  lane: Lane,
  size: number,
]
/** Of a batch `b`. */
export const releasedColumns = 'b.task_id, b.id, b.channel, b.certificate_id, b.node, b.lane, b.size'

export function releasedBatch([
  taskId,
  id,
  channel,
  certificateId,
  node,
  lane,
  size,
]: ReleasedRow): ReleasedBatch {
  return { taskId, id, channel, certificateId, node, lane, size }
}
