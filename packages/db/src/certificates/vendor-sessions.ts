import { sleep } from '@herald/async'
import type { Database } from '../store/database.ts'
import type { Sealer } from '../store/seal.ts'
import { run } from '../store/statement.ts'

export type NewSession = { value: string; renewAt: number; expiresAt: number }

/** A process that takes longer than this to get a session is overtaken by another. */
const MINT_SECONDS = 20
/** How long no process asks the vendor again after it did not get a session. */
const PAUSE_SECONDS = 2
/** How long a process uses a valid session without trying again to renew it. */
const RENEWAL_PAUSE_SECONDS = 30
const POLL_MS = 100

/** Where a session is stored: for one certificate, or for all certificates that know `key`. */
export type SessionPlace = { certificateId?: number; key: string }

/** `renewalError`: a new session could not be got, so this is the old one. */
type Session = { value: string; freshFor: number; renewalError?: unknown }
type Request = {
  db: Database
  sealer: Sealer
  place: SessionPlace
  mint: () => Promise<NewSession>
  stale?: string
}

/**
 * Returns a vendor's access token, which all processes share, with the number of seconds after which it is to be read again. Past
 * `renewAt` one caller gets a new one with `mint` while the others still use the old; if `mint` throws, that caller uses the old one,
 * too. If there is none, it has expired or it is `stale` (refused by the vendor), all callers wait for the new one; if `mint` throws,
 * the callers of this process that wait get its error.
 */
export async function readSession(
  db: Database,
  sealer: Sealer,
  place: SessionPlace,
  mint: () => Promise<NewSession>,
  stale?: string,
): Promise<Session> {
  const request = { db, sealer, place, mint, stale }
  const { sealed, usable, freshFor, validFor } = await readStored(request)
  if (usable === undefined) return shareLogin(request)
  if (freshFor > 0) return { value: usable, freshFor }
  const until = await claimMint(request, sealed)
  const old = { value: usable, freshFor: 0 }
  if (until === undefined) return old
  try {
    return (await mintOne(request, until)) ?? old
  } catch (renewalError) {
    // The old one is valid, for hours with some vendors. Callers get the error when it has expired.
    return { value: usable, freshFor: Math.min(RENEWAL_PAUSE_SECONDS, validFor), renewalError }
  }
}

/** `usable` is undefined if there is no session, or if it has expired or is stale. */
async function readStored({ db, sealer, place, stale }: Request) {
  const { statements, parameters, boundTo } = storageOf(place)
  const [row] = await run<[sealed: Buffer | null, validFor: number, freshFor: number]>(
    db.pool,
    ...statements.read,
    parameters,
  )
  const [sealed, validFor, freshFor] = row ?? [null, 0, 0]
  const value = sealed && validFor > 0 ? sealer.open(sealed, boundTo) : undefined
  return { sealed, usable: value === stale ? undefined : value, freshFor, validFor }
}

type Login = { since: number; session: Promise<Session> }
const loginsByDatabase = new WeakMap<Database, Map<string, Login>>()

/**
 * Concurrent callers of this process share one login, and its error: otherwise each of them would ask a vendor that has just failed.
 * One that takes longer than MINT_SECONDS is not joined, because another process may have overtaken it.
 */
function shareLogin(request: Request): Promise<Session> {
  const { db, place, stale } = request
  const logins = loginsByDatabase.get(db) ?? new Map<string, Login>()
  loginsByDatabase.set(db, logins)
  const name = JSON.stringify([place.certificateId, place.key, stale])
  const running = logins.get(name)
  if (running && performance.now() - running.since < MINT_SECONDS * 1000) return running.session
  const login = { since: performance.now(), session: logIn(request) }
  logins.set(name, login)
  const forget = () => {
    if (logins.get(name) === login) logins.delete(name)
  }
  login.session.then(forget, forget)
  return login.session
}

async function logIn(request: Request): Promise<Session> {
  for (;;) {
    const { sealed, usable, freshFor } = await readStored(request)
    if (usable !== undefined) return { value: usable, freshFor }
    const until = await claimMint(request, sealed)
    if (until === undefined) {
      await sleep(POLL_MS)
      continue
    }
    const minted = await mintOne(request, until)
    if (minted) return minted
  }
}

/**
 * Returns undefined if another caller is at it or has just failed, or if the row no longer contains `sealed`: another process may have
 * stored a new session, and vendors limit their number (one rejects a third one within twenty minutes).
 */
async function claimMint({ db, place }: Request, sealed: Buffer | null): Promise<string | undefined> {
  const { statements, parameters } = storageOf(place)
  const [claim] = await run<[until: string]>(db.pool, ...statements.claim, [...parameters, sealed])
  return claim?.[0]
}

/** Returns undefined if it took so long that another process has taken over. */
async function mintOne({ db, sealer, place, mint }: Request, until: string): Promise<Session | undefined> {
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
    `SELECT sealed, coalesce(extract(epoch FROM expires_at - now())::float8, 0), coalesce(extract(epoch FROM renew_at - now())::float8, 0)
     FROM ${table} WHERE ${isRow}`,
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
    `UPDATE ${table} SET minting_until = now() + make_interval(secs => ${PAUSE_SECONDS})
     WHERE ${isRow} AND minting_until = ${next(1)}::timestamptz`,
  ]
  return { read, claim, store, giveUp }
}

const ownStatements = statementsFor('session', 'vendor_session', ['certificate_id', 'key'])
// Nothing else removes these rows: they belong to no certificate.
const sharedStatements = statementsFor(
  'shared-session',
  'shared_session',
  ['key'],
  `WITH old AS (DELETE FROM shared_session WHERE key <> $1 AND coalesce(minting_until < now(), true) AND expires_at < now() - interval '1 day')`,
)

/**
 * Returns a value that is made once per task and certificate. Concurrent callers wait for it. If making it takes longer than the claim lasts,
 * another process makes it too; the value that is stored first counts.
 */
export async function taskMemory(
  db: Database,
  taskId: number,
  certificateId: number,
  key: string,
  make: () => Promise<string>,
): Promise<string> {
  const id = [taskId, certificateId, key]
  let claim: string
  for (;;) {
    const [won] = await run<[string]>(
      db.pool,
      'memory-claim',
      `INSERT INTO task_memory AS m (task_id, certificate_id, key, making_until)
       VALUES ($1, $2, $3, now() + make_interval(secs => ${MINT_SECONDS}))
       ON CONFLICT (task_id, certificate_id, key) DO UPDATE SET making_until = excluded.making_until
         WHERE m.value IS NULL AND m.making_until < now()
       RETURNING making_until::text`,
      id,
    )
    if (won) {
      claim = won[0]
      break
    }
    const [row] = await run<[string | null]>(
      db.pool,
      'memory-read',
      'SELECT value FROM task_memory WHERE task_id = $1 AND certificate_id = $2 AND key = $3',
      id,
    )
    if (row && row[0] !== null) return row[0]
    await sleep(POLL_MS)
  }
  let value: string
  try {
    value = await make()
  } catch (error) {
    await run(
      db.pool,
      'memory-give-up',
      `DELETE FROM task_memory
       WHERE task_id = $1 AND certificate_id = $2 AND key = $3 AND value IS NULL AND making_until = $4::timestamptz`,
      [...id, claim],
    )
    throw error
  }
  const [stored] = await run<[string]>(
    db.pool,
    'memory-store',
    `INSERT INTO task_memory AS m (task_id, certificate_id, key, value) VALUES ($1, $2, $3, $4)
     ON CONFLICT (task_id, certificate_id, key) DO UPDATE SET value = coalesce(m.value, excluded.value)
     RETURNING value`,
    [...id, value],
  )
  return stored![0]
}
