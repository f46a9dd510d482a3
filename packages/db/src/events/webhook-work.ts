import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
import type { Sealer } from '../store/seal.ts'
import { run } from '../store/statement.ts'
import type { Position } from './position.ts'

/** A webhook that one courier sends for until its lease ends. */
export type WebhookWork = {
  webhookId: number
  appId: string
  url: string
  /** Undefined: no key opens it. */
  secret?: string
  events: string[]
  campaign?: string
  epoch: number
  position: Position
  /** The end of a request that may have been sent already: its repetition has the same id and the same entries. */
  sending?: Position
  /** The last event that it wants, when the claim was made. */
  head: number
  /** Requests that failed in a row, and for how many seconds they do. */
  attempts: number
  failingSeconds: number
  /** Name of this claim. */
  worker: string
}

/** Longer than a request takes, with its statements. If the courier dies, another one continues after it. */
const LEASE = `interval '45 seconds'`

export type CourierLook = {
  /** The outbox has rows. */
  outbox: boolean
  /** Webhooks that have something to send: those whose last request succeeded, and the others. */
  healthy: boolean
  failing: boolean
  /** Webhooks have something to send, now or later. */
  waiting: boolean
}

const waitingSql = 'rested_at IS NULL AND head >= cursor'
const nowSql = 'next_at <= now() AND (lease_until IS NULL OR lease_until <= now())'
const dueSql = `${waitingSql} AND ${nowSql}`

/** The only statement of a courier that has nothing to do. */
export async function lookForCourier(db: Database): Promise<CourierLook> {
  const [row] = await run<[boolean, boolean, boolean, boolean]>(
    db.pool,
    'look-for-courier',
    `SELECT EXISTS (SELECT 1 FROM outbox), coalesce(bool_or(attempts = 0 AND ${nowSql}), false),
       coalesce(bool_or(attempts > 0 AND ${nowSql}), false), count(*) > 0
     FROM webhook WHERE ${waitingSql}`,
    [],
  )
  const [outbox, healthy, failing, waiting] = row!
  return { outbox, healthy, failing, waiting }
}

type Row = [
  id: number,
  appId: string,
  name: string,
  url: string,
  sealed: Buffer,
  events: string[],
  campaign: string | null,
  epoch: number,
  cursor: number,
  cursorPart: number,
  sendingId: number | null,
  sendingPart: number | null,
  head: number,
  attempts: number,
  failingSeconds: number,
]

/** Takes webhooks that have something to send, those first that have waited longest. */
export async function claimWebhooks(
  db: Database,
  sealer: Sealer,
  worker: string,
  wanted: { limit: number; failing: boolean },
): Promise<WebhookWork[]> {
  const rows = await run<Row>(
    db.pool,
    'claim-webhooks',
    `WITH due AS MATERIALIZED (
       SELECT id FROM webhook WHERE ${dueSql} AND (attempts > 0) = $3
       ORDER BY next_at, id LIMIT $2 FOR UPDATE SKIP LOCKED
     )
     UPDATE webhook w SET worker = $1, lease_until = now() + ${LEASE} FROM due WHERE w.id = due.id
     RETURNING w.id, w.app_id, w.name, w.url, w.sealed, w.events, w.campaign, w.epoch, w.cursor, w.cursor_part, w.sending_id,
       w.sending_part, w.head, w.attempts, coalesce(extract(epoch FROM now() - w.failing_since), 0)::float8`,
    [worker, wanted.limit, wanted.failing],
  )
  return rows.map((row) => {
    const [webhookId, appId, name, url, sealed, events, campaign, epoch, cursor, cursorPart] = row
    const [, , , , , , , , , , sendingId, sendingPart, head, attempts, failingSeconds] = row
    return {
      webhookId,
      appId,
      url,
      secret: sealer.tryOpen(sealed, boundTo(appId, name)),
      events,
      campaign: campaign ?? undefined,
      epoch,
      position: { event: cursor, part: cursorPart },
      sending: sendingId === null ? undefined : { event: sendingId, part: sendingPart! },
      head,
      attempts,
      failingSeconds,
      worker,
    }
  })
}

/** What a secret is bound to. */
export function boundTo(appId: string, name: string): string {
  return `webhook/${appId}/${name}`
}

/** A change of the webhook in between, such as a replay, ends the claim. So does the lease, once another courier has claimed it. */
const isMine = 'id = $1 AND worker = $2 AND epoch = $3'
const claimOf = ({ webhookId, worker, epoch }: WebhookWork) => [webhookId, worker, epoch]

/**
 * Notes which entries the next request has, before it is sent. `sent` is the result of the request before, so that a request costs one
 * commit. Returns false if the claim has ended.
 */
export async function noteRequest(
  db: Database,
  work: WebhookWork,
  next: { start: Position; end?: Position },
  sent?: { entries: number; status: number },
): Promise<boolean> {
  const { start, end } = next
  const rows = await retrying(() =>
    run(
      db.pool,
      'note-webhook-request',
      `UPDATE webhook SET cursor = $4, cursor_part = $5, sending_id = $6, sending_part = $7, lease_until = now() + ${LEASE},
         sent = sent + CASE WHEN (cursor, cursor_part) < ($4::bigint, $5::int) THEN $8::int ELSE 0 END,
         attempts = CASE WHEN $9::int IS NULL THEN attempts ELSE 0 END,
         failing_since = CASE WHEN $9::int IS NULL THEN failing_since END,
         last_status = coalesce($9, last_status), last_error = CASE WHEN $9::int IS NULL THEN last_error END,
         last_answer_at = CASE WHEN $9::int IS NULL THEN last_answer_at ELSE now() END
       WHERE ${isMine} RETURNING 1`,
      [
        ...claimOf(work),
        start.event,
        start.part,
        end?.event ?? null,
        end?.part ?? null,
        sent?.entries ?? 0,
        sent?.status ?? null,
      ],
    ),
  )
  return rows.length > 0
}

/** Ends the claim after a request that failed: it is repeated after a pause, or the webhook rests. Returns false if the claim had ended. */
export async function noteFailure(
  db: Database,
  work: WebhookWork,
  failure: { status?: number; error: string; pauseSeconds: number; rest?: string },
): Promise<boolean> {
  const rows = await retrying(() =>
    run(
      db.pool,
      'note-webhook-failure',
      `UPDATE webhook SET attempts = attempts + 1, failing_since = coalesce(failing_since, now()), last_status = $4, last_error = $5,
         last_answer_at = now(), next_at = now() + make_interval(secs => $6), rested_at = CASE WHEN $7::text IS NOT NULL THEN now() END,
         rest_reason = $7, lease_until = NULL, worker = NULL
       WHERE ${isMine} RETURNING 1`,
      [...claimOf(work), failure.status ?? null, failure.error, failure.pauseSeconds, failure.rest ?? null],
    ),
  )
  return rows.length > 0
}

/** Ends the claim. `position`: all before it was sent, and nothing follows; undefined: it is as it was noted last, and more may follow. */
export async function releaseWebhook(db: Database, work: WebhookWork, position?: Position): Promise<void> {
  await retrying(() =>
    run(
      db.pool,
      'release-webhook',
      // One that has more to send comes after the others that wait.
      `UPDATE webhook SET lease_until = NULL, worker = NULL, next_at = CASE WHEN $4::bigint IS NULL THEN now() ELSE next_at END,
         cursor = coalesce($4, cursor), cursor_part = coalesce($5, cursor_part),
         sending_id = CASE WHEN $4::bigint IS NULL THEN sending_id END, sending_part = CASE WHEN $4::bigint IS NULL THEN sending_part END
       WHERE ${isMine}`,
      [...claimOf(work), position?.event ?? null, position?.part ?? null],
    ),
  )
}
