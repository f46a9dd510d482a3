import { sleep } from '@herald/async'
import type { Database } from '../store/database.ts'
import type { Sealer } from '../store/seal.ts'
import { run } from '../store/statement.ts'

export type NewSession = { value: string; renewAt: number; expiresAt: number }

/** A process that takes longer than this to get a session is overtaken by another. */
const MINT_SECONDS = 20
const POLL_MS = 100

/** Where a session is stored: for one certificate, or for all certificates that know `key`. */
export type SessionPlace = { certificateId?: number; key: string }

/**
 * Returns a vendor's access token, which all processes share. Past `renewAt` one caller gets a new one with `mint` while the others
 * still use the old. If there is none, it has expired or it is `stale` (refused by the vendor), all callers wait for the new one.
 */
export async function vendorSession(
  db: Database,
  sealer: Sealer,
  place: SessionPlace,
  mint: () => Promise<NewSession>,
  stale?: string,
): Promise<string> {
  return (await readSession(db, sealer, place, mint, stale)).value
}

/** The same, with the number of seconds after which the session is to be read again. */
export async function readSession(
  db: Database,
  sealer: Sealer,
  place: SessionPlace,
  mint: () => Promise<NewSession>,
  stale?: string,
): Promise<{ value: string; freshFor: number }> {
  const { statements, parameters, boundTo } = storageOf(place)
  for (;;) {
    const [row] = await run<[sealed: Buffer | null, usable: boolean, freshFor: number]>(
      db.pool,
      ...statements.read,
      parameters,
    )
    const current = row?.[0] && row[1] ? sealer.open(row[0], boundTo) : undefined
    const usable = current !== undefined && current !== stale
    if (usable && row![2] > 0) return { value: current, freshFor: row![2] }
    // Only if the row is unchanged: another process may have stored a new one, and vendors limit their number (one rejects
    // a third one within twenty minutes).
    const [claim] = await run<[until: string]>(db.pool, ...statements.claim, [
      ...parameters,
      row?.[0] ?? null,
    ])
    const minted = claim && (await mintOne(db, sealer, place, claim[0], mint))
    if (minted !== undefined) return minted
    if (usable) return { value: current, freshFor: 0 }
    if (claim) continue
    await sleep(POLL_MS)
  }
}

/** Returns undefined if it took so long that another process has taken over. */
async function mintOne(
  db: Database,
  sealer: Sealer,
  place: SessionPlace,
  until: string,
  mint: () => Promise<NewSession>,
): Promise<{ value: string; freshFor: number } | undefined> {
  const { statements, parameters, boundTo } = storageOf(place)
  try {
    const { value, renewAt, expiresAt } = await mint()
    // The times are by this process's clock and are stored relative to the database's.
    const now = Date.now()
    const stored = await run(db.pool, ...statements.store, [
      ...parameters,
      until,
      sealer.seal(value, boundTo),
      (renewAt - now) / 1000,
      (expiresAt - now) / 1000,
    ])
    return stored.length > 0 ? { value, freshFor: (renewAt - now) / 1000 } : undefined
  } catch (error) {
    await run(db.pool, ...statements.giveUp, [...parameters, until])
    throw error
  }
}

function storageOf({ certificateId, key }: SessionPlace) {
  return certificateId === undefined
    ? { statements: sharedStatements, parameters: [key], boundTo: `shared-session:${key}` }
    : {
        statements: ownStatements,
        parameters: [certificateId, key],
        boundTo: `session:${certificateId}:${key}`,
      }
}

type Named = [name: string, sql: string]

/** `columns` identify a row; their values are the first parameters of each statement. */
function statementsFor(prefix: string, table: string, columns: readonly string[], cleanUp = '') {
  const names = columns.join(', ')
  const values = columns.map((_, at) => `$${at + 1}`).join(', ')
  const isRow = columns.map((column, at) => `${column} = $${at + 1}`).join(' AND ')
  const next = (at: number) => `$${columns.length + at}`
  const read: Named = [
    `${prefix}-read`,
    `SELECT sealed, coalesce(expires_at > now(), false), coalesce(extract(epoch FROM renew_at - now())::float8, 0) FROM ${table} WHERE ${isRow}`,
  ]
  const claim: Named = [
    `${prefix}-claim`,
    `INSERT INTO ${table} AS s (${names}, minting_until)
     VALUES (${values}, now() + make_interval(secs => ${MINT_SECONDS}))
     ON CONFLICT (${names}) DO UPDATE SET minting_until = excluded.minting_until
       WHERE (s.minting_until IS NULL OR s.minting_until < now()) AND s.sealed IS NOT DISTINCT FROM ${next(1)}
     RETURNING minting_until::text`,
  ]
  const store: Named = [
    `${prefix}-store`,
    `${cleanUp} UPDATE ${table} SET sealed = ${next(2)}, renew_at = now() + make_interval(secs => ${next(3)}),
       expires_at = now() + make_interval(secs => ${next(4)}), minting_until = NULL
     WHERE ${isRow} AND minting_until = ${next(1)}::timestamptz RETURNING true`,
  ]
  const giveUp: Named = [
    `${prefix}-give-up`,
    `UPDATE ${table} SET minting_until = NULL WHERE ${isRow} AND minting_until = ${next(1)}::timestamptz`,
  ]
  return { read, claim, store, giveUp }
}

const ownStatements = statementsFor('session', 'vendor_session', ['certificate_id', 'key'])
// Nothing else removes these rows: they belong to no certificate.
const sharedStatements = statementsFor(
  'shared-session',
  'shared_session',
  ['key'],
  `WITH old AS (DELETE FROM shared_session WHERE key <> $1 AND minting_until IS NULL AND expires_at < now() - interval '1 day')`,
)

/** Returns a value that is made once per task and certificate. Concurrent callers wait for it. */
export async function taskMemory(
  db: Database,
  taskId: number,
  certificateId: number,
  key: string,
  make: () => Promise<string>,
): Promise<string> {
  for (;;) {
    const [won] = await run<[boolean]>(
      db.pool,
      'memory-claim',
      `INSERT INTO task_memory AS m (task_id, certificate_id, key, making_until)
       VALUES ($1, $2, $3, now() + make_interval(secs => ${MINT_SECONDS}))
       ON CONFLICT (task_id, certificate_id, key) DO UPDATE SET making_until = excluded.making_until
         WHERE m.value IS NULL AND m.making_until < now()
       RETURNING true`,
      [taskId, certificateId, key],
    )
    if (won) break
    const [row] = await run<[string | null]>(
      db.pool,
      'memory-read',
      'SELECT value FROM task_memory WHERE task_id = $1 AND certificate_id = $2 AND key = $3',
      [taskId, certificateId, key],
    )
    if (row && row[0] !== null) return row[0]
    await sleep(POLL_MS)
  }
  try {
    const value = await make()
    await run(
      db.pool,
      'memory-store',
      'UPDATE task_memory SET value = $4 WHERE task_id = $1 AND certificate_id = $2 AND key = $3',
      [taskId, certificateId, key, value],
    )
    return value
  } catch (error) {
    await run(
      db.pool,
      'memory-give-up',
      'DELETE FROM task_memory WHERE task_id = $1 AND certificate_id = $2 AND key = $3 AND value IS NULL',
      [taskId, certificateId, key],
    )
    throw error
  }
}
