import {
  type AuditAction,
  environmentOf,
  probePause,
  publicName,
  type RecoveryPauses,
  recoveryPauses,
  type VendorChannel,
} from '@herald/domain'
import type { Certificate } from '../generated/client.ts'
import { addAudit, type By } from '../ledger/audit-rows.ts'
import { addClosedSql, addReopenedSql } from '../ledger/certificate-events.ts'
import type { Database } from '../store/database.ts'
import { inTransaction, run } from '../store/statement.ts'

export type { RecoveryPauses }

/** Why a vendor refused a certificate, in its own words. */
export type Refusal = { code: string; text: string }

/**
 * No other process checks the same certificate for this time, which is longer than a check and its statements take. If the
 * process dies, the check is repeated after this time.
 */
const CHECK_LEASE_SECONDS = 45

/** The next probe of a certificate that is not probed; readers use `isNever`. Prisma does not read `infinity`. */
const NEVER = '9999-01-01'

/** What the audit records of a certificate. */
type Row = Pick<
  Certificate,
  | 'appId'
  | 'channel'
  | 'environment'
  | 'region'
  | 'refusedAt'
  | 'closedAt'
  | 'lastErrorAt'
  | 'lastError'
  | 'probes'
>
const columns = `app_id AS "appId", channel, environment, region, refused_at AS "refusedAt", closed_at AS "closedAt",
  last_error_at AS "lastErrorAt", last_error AS "lastError", probes`

/**
 * Stops sending with this certificate, with the vendor's reason. Unless `probed` is false it is checked from time to time. With
 * `version`, which the refusal of a request concerns, it stays open if it was saved since, or if a request was accepted since
 * (forgetRefusal). Returns whether it was closed by this call.
 */
export async function closeCertificate(
  db: Database,
  id: number,
  { code, text }: Refusal,
  {
    version,
    pauses = recoveryPauses,
    probed = true,
  }: { version?: number; pauses?: RecoveryPauses; probed?: boolean } = {},
): Promise<boolean> {
  return inTransaction(db, async (runner) => {
    const { rows } = await runner.query<Row>(
      `UPDATE certificate SET state = 'closed', last_error = $2, last_error_at = now(), refused_at = coalesce(refused_at, now()),
         closed_at = now(), probes = 0, probe_at = coalesce(now() + make_interval(secs => $4), '${NEVER}')
       WHERE id = $1 AND state <> 'closed' AND ($3::int IS NULL OR version = $3 AND refused_at IS NOT NULL) RETURNING ${columns}`,
      [id, text, version ?? null, probed ? probePause(pauses, 0) : null],
    )
    if (!rows[0]) return false
    await runner.query('DELETE FROM breaker WHERE certificate_id = $1', [id])
    await addAudit(runner, stateEntry(rows[0], herald, 'certificate.closed', { code, text }))
    await runner.query(addClosedSql, [id, code, text])
    return true
  })
}

/**
 * Sends with this certificate again. Raises the version, so that transports which remember the refusal are opened again. With
 * `onlyClosed` a suspect one stays as it is. With `version`, one that was saved since stays as it is: other credentials were
 * accepted. Returns whether it was opened by this call.
 */
export async function reopenCertificate(
  db: Database,
  id: number,
  { by, onlyClosed = false, version }: { by?: By; onlyClosed?: boolean; version?: number } = {},
): Promise<boolean> {
  return inTransaction(db, async (runner) => {
    const { rows } = await runner.query<Row & { state: string }>(
      `SELECT state, ${columns} FROM certificate
       WHERE id = $1 AND (state = 'closed' OR state <> 'open' AND NOT $2::boolean) AND ($3::int IS NULL OR version = $3) FOR UPDATE`,
      [id, onlyClosed, version ?? null],
    )
    const before = rows[0]
    if (!before) return false
    await runner.query(
      `UPDATE certificate SET state = 'open', last_error = NULL, last_error_at = NULL, refused_at = NULL, closed_at = NULL,
         probe_at = NULL, probes = 0, check_error = NULL, check_error_at = NULL, version = version + 1 WHERE id = $1`,
      [id],
    )
    // Answers about tokens before the fix must not make the certificate suspect.
    await runner.query('DELETE FROM token_window WHERE certificate_id = $1', [id])
    if (before.state === 'closed') {
      await addAudit(runner, reopenedEntry(before, by))
      await runner.query(addReopenedSql, [id, secondsOf(before.closedAt)])
    }
    return true
  })
}

/** The audit entry of a closed certificate that is used again; `before` is its row while it was closed. */
export function reopenedEntry(before: Row, by: By = herald) {
  return stateEntry(before, by, 'certificate.reopened', {
    text: before.lastError,
    closed_at: secondsOf(before.closedAt),
    probes: before.probes,
  })
}

/** Herald itself, without a person's call. */
const herald: By = { actor: 'herald' }

function stateEntry(row: Row, by: By, action: AuditAction, about: Record<string, string | number | null>) {
  const detail = {
    channel: publicName(row.channel as VendorChannel),
    environment: environmentOf(row.environment),
    region: row.region,
    first_refused_at: secondsOf(row.refusedAt),
    last_refused_at: secondsOf(row.lastErrorAt),
    ...about,
  }
  return { appId: row.appId, by, action, detail }
}

export const secondsOf = (time: Date | null) => time && Math.floor(time.getTime() / 1000)

/**
 * Stores why a check failed that a person asked for. Neither closes the certificate nor releases a batch. Of a closed one, a
 * refusal is also the vendor's last error. One that was saved since is left as it is: other credentials were checked.
 */
export async function recordFailedCheck(
  db: Database,
  { id, version }: { id: number; version: number },
  { problem, refused }: { problem: string; refused: boolean },
): Promise<void> {
  await run(
    db.pool,
    'record-failed-check',
    `UPDATE certificate SET check_error = $2, check_error_at = now(),
       last_error = CASE WHEN state = 'closed' AND $3 THEN $2 ELSE last_error END,
       last_error_at = CASE WHEN state = 'closed' AND $3 THEN now() ELSE last_error_at END
     WHERE id = $1 AND version = $4`,
    [id, problem, refused, version],
  )
}

/** The vendor accepted the certificate in a check: an earlier failure is no longer shown. */
export async function forgetFailedCheck(db: Database, id: number): Promise<void> {
  await run(
    db.pool,
    'forget-failed-check',
    'UPDATE certificate SET check_error = NULL, check_error_at = NULL WHERE id = $1 AND check_error IS NOT NULL',
    [id],
  )
}

/**
 * Takes the right to check a certificate whose request was refused, so that one process at a time asks the vendor. Stores the time
 * of the first refusal. False if another process has it, or if the certificate was closed or saved since.
 */
export async function takeCheck(db: Database, id: number, version: number): Promise<boolean> {
  const rows = await run(
    db.pool,
    'take-check',
    `UPDATE certificate SET refused_at = coalesce(refused_at, now()),
       probe_at = now() + interval '${CHECK_LEASE_SECONDS} seconds'
     WHERE id = $1 AND version = $2 AND state <> 'closed' AND (probe_at IS NULL OR probe_at <= now()) RETURNING id`,
    [id, version],
  )
  return rows.length === 1
}

/** The check did not confirm the refusal: the next one may be after `pause` seconds. */
export async function endCheck(db: Database, id: number, pause: number): Promise<void> {
  await run(
    db.pool,
    'end-check',
    `UPDATE certificate SET probe_at = now() + make_interval(secs => $2) WHERE id = $1 AND state <> 'closed'`,
    [id, pause],
  )
}

/** The vendor accepted a request: earlier refusals no longer count. */
export async function forgetRefusal(db: Database, id: number): Promise<void> {
  await run(
    db.pool,
    'forget-refusal',
    `UPDATE certificate SET refused_at = NULL, probe_at = NULL WHERE id = $1 AND state <> 'closed' AND refused_at IS NOT NULL`,
    [id],
  )
}

export type ClosedCertificate = { id: number; probes: number }

/** Takes closed certificates that are due for a probe. No other process takes them for CHECK_LEASE_SECONDS. */
export async function takeProbes(db: Database, max: number): Promise<ClosedCertificate[]> {
  const rows = await run<[number, number]>(
    db.pool,
    'take-probes',
    // No time: closed by a process of a release that did not probe.
    `WITH due AS MATERIALIZED (
       SELECT id FROM certificate WHERE state = 'closed' AND (probe_at IS NULL OR probe_at <= now())
       ORDER BY probe_at LIMIT $1 FOR UPDATE SKIP LOCKED
     )
     UPDATE certificate c SET probe_at = now() + interval '${CHECK_LEASE_SECONDS} seconds'
     FROM due WHERE c.id = due.id RETURNING c.id, c.probes`,
    [max],
  )
  return rows.map(([id, probes]) => ({ id, probes }))
}

/** The certificate stays closed and is probed again after `pause` seconds. `error` is undefined if the vendor could not be asked. */
export async function postponeProbe(db: Database, id: number, pause: number, error?: string): Promise<void> {
  await run(
    db.pool,
    'postpone-probe',
    `UPDATE certificate SET probes = probes + 1, probe_at = now() + make_interval(secs => $2),
       last_error = coalesce($3, last_error), last_error_at = CASE WHEN $3::text IS NULL THEN last_error_at ELSE now() END
     WHERE id = $1 AND state = 'closed'`,
    [id, pause, error ?? null],
  )
}
