import { type Channel, isNever, ownReasons, publicName, type Reason } from '@herald/domain'
import { pendingSql } from '../ledger/batch-rows.ts'
import { memberSql } from '../ledger/bundled-tasks.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { run } from '../store/statement.ts'
import { waitingReason } from './path.ts'
import { ms } from './places.ts'

/** Recipients that wait for the same reason. `held`: because the task is paused. */
export type WaitingGroup = {
  channel: Channel
  fate: 'waiting' | 'held'
  reason: Reason
  count: number
  /** Since when the vendor does not take messages, Unix ms; null for other reasons. */
  since: number | null
  /** When the first of them is tried again, Unix ms; null if that depends on the vendor, the device or the operator. */
  nextAt: number | null
  samples: number[]
}

/** Pending recipients of open batches of one channel and certificate, in the same state, with the same last reason. Times in Unix ms. */
export type OpenRecipients = {
  channel: Channel
  state: string
  /** Null: no attempt has given a reason. */
  code: string | null
  text: string | null
  count: number
  notBefore: number | null
  samples: number[]
  closed: { lastError?: string; closedAt?: number; probeAt?: number } | null
  silent: { openedAt: number; retryAt: number; text: string } | null
}

const known = (time: number | null | undefined) =>
  time === null || time === undefined || isNever(time) ? null : time

/** Why these recipients wait: a pause, then a certificate that does not send, then the last attempt, then the state of the batch. */
export function whyWaiting(open: OpenRecipients, task: { paused: boolean }): WaitingGroup {
  const { channel, state, count, samples, closed, silent } = open
  const group = (
    fate: WaitingGroup['fate'],
    reason: Reason,
    nextAt: number | null | undefined,
    since?: number,
  ) => ({
    channel,
    fate,
    reason,
    count,
    since: known(since),
    nextAt: known(nextAt),
    samples,
  })
  if (task.paused || state === 'held') return group('held', ownReasons.task_paused, null)
  const isSending = state === 'sending' || state === 'awaiting_ack'
  if (closed && !isSending)
    return group(
      'waiting',
      ownReasons.certificate_closed(publicName(channel), closed),
      closed.probeAt,
      closed.closedAt,
    )
  if (silent && !isSending)
    return group(
      'waiting',
      ownReasons.vendor_silent(publicName(channel), silent),
      silent.retryAt,
      silent.openedAt,
    )
  const last = open.code === null ? undefined : { code: open.code, text: open.text ?? '' }
  const isReady = state === 'ready' || state === 'paced'
  return group('waiting', waitingReason(state, task, last), isReady ? open.notBefore : null)
}

/** Groups of the same channel, fate and code become one; the first text and the earliest time count. */
export function joinGroups(groups: readonly WaitingGroup[]): WaitingGroup[] {
  const joined = new Map<string, WaitingGroup>()
  for (const group of groups) {
    const key = `${group.channel} ${group.fate} ${group.reason.code}`
    const first = joined.get(key)
    if (!first) {
      joined.set(key, { ...group })
      continue
    }
    first.count += group.count
    first.samples = [...first.samples, ...group.samples].slice(0, MAX_SAMPLES)
    if (group.nextAt !== null) first.nextAt = Math.min(first.nextAt ?? Infinity, group.nextAt)
    if (group.since !== null) first.since = Math.min(first.since ?? Infinity, group.since)
  }
  return [...joined.values()].sort((a, b) => b.count - a.count)
}

const MAX_SAMPLES = 10

/** Returns why recipients of a task wait. Reads its open batches; the number of waiting inbox messages is that of the counter. */
export async function waitingRecipients(
  db: Database,
  taskId: number,
): Promise<(Omit<WaitingGroup, 'samples'> & { samples: Sample[] })[]> {
  const groups = await readWaiting(db, taskId)
  const ids = groups.flatMap(({ samples }) => samples)
  const rows =
    ids.length === 0
      ? []
      : await run<[number, string]>(
          db.pool,
          'device-guids',
          'SELECT id, guid FROM device WHERE id = ANY ($1::bigint[])',
          [ids],
        )
  const guids = new Map(rows)
  return groups.map((group) => ({
    ...group,
    samples: group.samples.map((deviceId) => ({ deviceId, deviceGuid: guids.get(deviceId) ?? null })),
  }))
}

type Sample = { deviceId: number; deviceGuid: string | null }

async function readWaiting(db: Database, taskId: number): Promise<WaitingGroup[]> {
  const days = daysOf([taskId])
  const [task] = await runWithin<[paused: boolean, inbox: number, samples: number[]]>(
    db.pool,
    days,
    'waiting-task',
    `SELECT t.paused, coalesce(c.target - c.sent - c.failed - c.moved - c.expired - c.cancelled, 0)
         - coalesce((SELECT sum(${pendingSql('b.status')}) FROM batch b
           WHERE b.task_id = t.id AND ${inDays('b.task_id')} AND b.channel = 'native' AND b.state <> 'settled'), 0)::bigint,
       ARRAY(SELECT i.device_id FROM inbox i WHERE i.task_id = t.id AND ${inDays('i.task_id')} AND i.sent_at IS NULL AND NOT i.is_copy LIMIT ${MAX_SAMPLES})
     FROM task t LEFT JOIN counter c ON c.task_id = t.id AND ${inDays('c.task_id')} AND c.channel = 'native'
     WHERE t.id = $1 AND ${inDays('t.id')}`,
    [taskId],
  )
  if (!task) return []
  const [paused, inbox, samples] = task
  const rows = await runWithin<OpenRow>(db.pool, days, 'waiting-batches', openSql, [taskId])
  const groups = rows.map((row) => whyWaiting(openOf(row), { paused }))
  if (inbox > 0)
    groups.push({
      channel: 'native',
      fate: paused ? 'held' : 'waiting',
      reason: paused ? ownReasons.task_paused : ownReasons.offline_to_inbox,
      count: inbox,
      since: null,
      nextAt: null,
      samples,
    })
  return joinGroups(groups)
}

type OpenRow = [
  channel: Channel,
  state: string,
  code: string | null,
  text: string | null,
  count: number,
  notBefore: number | null,
  samples: number[],
  isClosed: boolean | null,
  lastError: string | null,
  closedAt: number | null,
  probeAt: number | null,
  openedAt: number | null,
  retryAt: number | null,
  breakerText: string | null,
]

function openOf(row: OpenRow): OpenRecipients {
  const [channel, state, code, text, count, notBefore, samples, isClosed, lastError, closedAt, probeAt] = row
  const [openedAt, retryAt, breakerText] = row.slice(-3) as [number | null, number | null, string | null]
  return {
    channel,
    state,
    code,
    text,
    count,
    notBefore,
    samples,
    closed: isClosed
      ? {
          lastError: lastError ?? undefined,
          closedAt: known(closedAt) ?? undefined,
          probeAt: known(probeAt) ?? undefined,
        }
      : null,
    silent: openedAt === null ? null : { openedAt, retryAt: retryAt!, text: breakerText! },
  }
}

// waits: of each open batch the pending recipients by the reason of the last attempt, and those without one. Reasons of recipients that are
// no longer pending do not count.
const openSql = `
WITH open AS MATERIALIZED (
  SELECT b.channel, b.certificate_id, b.state, b.status, b.whys, b.not_before, b.recipients, ${pendingSql('b.status')} AS pending
  FROM batch b WHERE b.task_id = $1 AND ${inDays('b.task_id')} AND b.state <> 'settled'
  UNION ALL
  SELECT m.channel, m.certificate_id, 'released', '.', NULL, NULL, ARRAY[m.device_id], 1
  FROM task t ${memberSql('t')} WHERE t.id = $1 AND ${inDays('t.id')} AND m.letter = '.'
), named AS MATERIALIZED (
  SELECT o.channel, o.certificate_id, o.state, o.not_before, w.c, w.t, p.count, p.samples
  FROM open o CROSS JOIN LATERAL jsonb_to_recordset(o.whys) AS w (f text, c text, t text, p jsonb)
  CROSS JOIN LATERAL (
    SELECT count(*) AS count, (array_agg(o.recipients[n::int + 1]))[1:${MAX_SAMPLES}] AS samples FROM jsonb_array_elements_text(w.p) AS n
    WHERE substr(o.status, n::int + 1, 1) = '.'
  ) p WHERE o.whys IS NOT NULL AND w.f = 'pending'
), waits AS (
  SELECT channel, certificate_id, state, not_before, c, t, count, samples FROM named WHERE count > 0
  UNION ALL
  SELECT o.channel, o.certificate_id, o.state, o.not_before, NULL, NULL, o.pending - coalesce(w.count, 0),
    CASE WHEN w.count IS NULL THEN (ARRAY(SELECT o.recipients[n] FROM generate_series(1, length(o.status)) n WHERE substr(o.status, n, 1) = '.' LIMIT ${MAX_SAMPLES})) END
  FROM open o LEFT JOIN LATERAL (
    SELECT sum((SELECT count(*) FROM jsonb_array_elements_text(w.p) AS n WHERE substr(o.status, n::int + 1, 1) = '.')) AS count
    FROM jsonb_to_recordset(o.whys) AS w (f text, p jsonb) WHERE w.f = 'pending' AND o.whys IS NOT NULL
  ) w ON true WHERE o.pending > coalesce(w.count, 0)
)
SELECT w.channel, w.state, w.c, (array_agg(w.t))[1], sum(w.count)::bigint, ${ms('min(w.not_before)')},
  (SELECT coalesce(array_agg(s.id), '{}') FROM (SELECT unnest(w2.samples) AS id FROM waits w2
    WHERE w2.channel = w.channel AND w2.state = w.state AND w2.c IS NOT DISTINCT FROM w.c AND w2.certificate_id IS NOT DISTINCT FROM w.certificate_id
    LIMIT ${MAX_SAMPLES}) s),
  c.state = 'closed', c.last_error, ${ms('c.closed_at')}, ${ms('c.probe_at')}, ${ms('r.opened_at')}, ${ms('r.retry_at')}, r.text
FROM waits w LEFT JOIN certificate c ON c.id = w.certificate_id LEFT JOIN breaker r ON r.certificate_id = w.certificate_id
GROUP BY w.channel, w.certificate_id, w.state, w.c, c.id, r.certificate_id`
