import { performance } from 'node:perf_hooks'
import type { VendorChannel } from '@herald/domain'
import type { CertificateState } from '../certificates/certificates.ts'
import type { Database } from '../store/database.ts'
import { type Environment, environmentOf } from '../store/environments.ts'
import { sealedTables } from '../store/reseal.ts'
import { SealBroken, type Sealer } from '../store/seal.ts'

export type ServerFacts = {
  version: string
  major: number
  /** How far this machine's clock is ahead of the server's, in ms; the way there and back blurs it by `blurMs`. */
  clockAheadMs: number
  blurMs: number
  synchronousCommit: string
  fsync: boolean
  standby: boolean
  /** Connections that programs may open together, and those that are open now, whosever they are. */
  connections: { most: number; open: number }
}

/** What an operator wants to know of the server itself. */
export async function examineServer(db: Database): Promise<ServerFacts> {
  // Opening a connection is not part of the clock's way.
  await db.pool.query('SELECT 1')
  const asked = { clock: Date.now(), at: performance.now() }
  const { rows } = await db.pool.query<{ now: number }>(
    `SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now`,
  )
  const blurMs = (performance.now() - asked.at) / 2
  const facts = await db.pool.query(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major,
       current_setting('synchronous_commit') AS "synchronousCommit", current_setting('fsync') = 'on' AS fsync,
       pg_is_in_recovery() AS standby,
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS open`,
  )
  const { most, open, ...row } = facts.rows[0]
  return { ...row, clockAheadMs: asked.clock + blurMs - rows[0]!.now, blurMs, connections: { most, open } }
}

export type CertificateHealth = {
  application: string
  channel: VendorChannel
  environment: Environment
  state: CertificateState
  lastError: string | null
  expiresAt: Date | null
}

/** Every certificate of every application, without its secrets. */
export async function certificateHealth(db: Database): Promise<CertificateHealth[]> {
  const rows = await db.prisma.certificate.findMany({
    select: { appId: true, channel: true, environment: true, state: true, lastError: true, expiresAt: true },
    orderBy: [{ appId: 'asc' }, { channel: 'asc' }, { environment: 'desc' }],
  })
  return rows.map((row) => ({
    application: row.appId,
    channel: row.channel as VendorChannel,
    environment: environmentOf(row.environment),
    state: row.state as CertificateState,
    lastError: row.lastError,
    expiresAt: row.expiresAt,
  }))
}

/** Stored secrets by what opens them: the master key, another of the keys given with it, or none. */
export type SealHealth = { current: number; others: number; broken: number }

export async function sealHealth(db: Database, sealer: Sealer): Promise<SealHealth> {
  const health: SealHealth = { current: 0, others: 0, broken: 0 }
  for (const { read } of Object.values(sealedTables)) {
    const { rows } = await db.pool.query<{ sealed: Buffer; bound_to: string }>(read)
    for (const { sealed, bound_to: boundTo } of rows)
      health[
        sealer.isCurrent(sealed, boundTo) ? 'current' : opens(sealer, sealed, boundTo) ? 'others' : 'broken'
      ]++
  }
  return health
}

function opens(sealer: Sealer, sealed: Uint8Array, boundTo: string): boolean {
  try {
    sealer.open(sealed, boundTo)
    return true
  } catch (error) {
    if (error instanceof SealBroken) return false
    throw error
  }
}
