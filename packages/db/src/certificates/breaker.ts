import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** The vendor does not answer the requests of a certificate. Times in Unix ms, by the clock of this process. */
export type Breaker = { openedAt: number; retryAt: number; code: string; text: string }

/** Returns the open breakers of an application by certificate. */
export async function breakersOf(db: Database, application: string): Promise<Map<number, Breaker>> {
  const rows = await run<[number, number, number, string, string]>(
    db.pool,
    'breakers',
    `SELECT certificate_id, extract(epoch FROM now() - opened_at)::float8, extract(epoch FROM retry_at - now())::float8, code, text
     FROM breaker WHERE certificate_id IN (SELECT id FROM certificate WHERE app_id = $1)`,
    [application],
  )
  const now = Date.now()
  return new Map(
    rows.map(([id, openFor, retryIn, code, text]) => [
      id,
      { openedAt: now - openFor * 1000, retryAt: now + retryIn * 1000, code, text },
    ]),
  )
}

/** Returns how many answers about tokens all processes got with a certificate since yesterday. */
export async function countAnswers(db: Database, certificateId: number): Promise<number> {
  const [row] = await run<[number]>(
    db.pool,
    'count-answers',
    'SELECT coalesce(sum(answered), 0)::float8 FROM token_window WHERE certificate_id = $1',
    [certificateId],
  )
  return row![0]
}

export type Silence = {
  certificateId: number
  code: string
  text: string
  /** Seconds until the next probe, by the number of probes that failed before. */
  pauses: readonly number[]
  /** When the batch that got no answer was claimed, Unix ms by the database's clock. */
  claimedAt: number
}

/**
 * Opens the breaker of a certificate, or notes that its probe failed. A batch that was claimed before the breaker was opened changes
 * nothing: it is not a probe, and a whole window of them would otherwise count as many. Returns whether the breaker was opened.
 */
export async function openBreaker(db: Database, silence: Silence): Promise<boolean> {
  const rows = await run<[boolean]>(
    db.pool,
    'open-breaker',
    `INSERT INTO breaker AS r (certificate_id, failures, retry_at, code, text)
     SELECT id, 1, now() + make_interval(secs => ($4::float8[])[1]), $2, $3 FROM certificate WHERE id = $1 AND state <> 'closed'
     ON CONFLICT (certificate_id) DO UPDATE SET failures = r.failures + 1, code = excluded.code, text = excluded.text,
       retry_at = now() + make_interval(secs => ($4::float8[])[LEAST(r.failures + 1, cardinality($4::float8[]))])
     WHERE r.opened_at <= to_timestamp($5::float8 / 1000)
     RETURNING r.failures = 1`,
    [silence.certificateId, silence.code, silence.text, silence.pauses, silence.claimedAt],
  )
  return rows[0]?.[0] ?? false
}

/** Closes the breaker; the batches that wait for it are woken by the planner. Returns whether it was open. */
export async function closeBreaker(db: Database, certificateId: number): Promise<boolean> {
  const rows = await run(
    db.pool,
    'close-breaker',
    'DELETE FROM breaker WHERE certificate_id = $1 RETURNING 1',
    [certificateId],
  )
  return rows.length === 1
}

/** The probe tells nothing about the vendor: the next one may be sent after `seconds`. */
export async function postponeBreaker(db: Database, certificateId: number, seconds: number): Promise<void> {
  await run(
    db.pool,
    'postpone-breaker',
    'UPDATE breaker SET retry_at = now() + make_interval(secs => $2) WHERE certificate_id = $1',
    [certificateId, seconds],
  )
}

export type Probe = {
  /** This caller may send one batch; nobody else may until the time given. */
  mayProbe: boolean
  /** Seconds since the breaker was opened. */
  openFor: number
}

/** Asks for the right to send a probe, for `seconds`. Undefined if the breaker is not open. */
export async function takeProbe(
  db: Database,
  certificateId: number,
  seconds: number,
): Promise<Probe | undefined> {
  const [row] = await run<[boolean, number]>(
    db.pool,
    'take-probe',
    `WITH taken AS (
       UPDATE breaker SET retry_at = now() + make_interval(secs => $2) WHERE certificate_id = $1 AND retry_at <= now() RETURNING 1
     )
     SELECT EXISTS (SELECT 1 FROM taken), extract(epoch FROM now() - opened_at)::float8
     FROM breaker WHERE certificate_id = $1`,
    [certificateId, seconds],
  )
  return row && { mayProbe: row[0], openFor: row[1] }
}
