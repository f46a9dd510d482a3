import { performance } from 'node:perf_hooks'
import { type Environment, environmentOf, type ShownHealth, type VendorChannel } from '@herald/domain'
import type { CertificateState } from '../certificates/certificates.ts'
import type { StoredHold } from '../certificates/holds.ts'
import { shownHealth } from '../certificates/shown-health.ts'
import type { Database } from '../store/database.ts'
import { sealedColumns } from '../store/reseal.ts'
import type { Sealer } from '../store/seal.ts'

export type ServerFacts = {
  version: string
  major: number
  /** How far this machine's clock is ahead of the server's; accurate to `uncertaintyMs`, half of the round trip. */
  clockAheadMs: number
  uncertaintyMs: number
  synchronousCommit: string
  fsync: boolean
  standby: boolean
  /** Connections that the server allows, and those open now, of all programs. */
  connections: { max: number; open: number }
}

export async function examineServer(db: Database): Promise<ServerFacts> {
  // So that the round trip measured below does not include opening a connection.
  await db.pool.query('SELECT 1')
  const [clock, start] = [Date.now(), performance.now()]
  const { rows } = await db.pool.query<{ now: number }>(
    `SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now`,
  )
  const uncertaintyMs = (performance.now() - start) / 2
  const facts = await db.pool.query(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major,
       current_setting('synchronous_commit') AS "synchronousCommit", current_setting('fsync') = 'on' AS fsync,
       pg_is_in_recovery() AS standby,
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS max,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS open`,
  )
  const { max, open, ...row } = facts.rows[0]
  return {
    ...row,
    clockAheadMs: clock + uncertaintyMs - rows[0]!.now,
    uncertaintyMs,
    connections: { max, open },
  }
}

export type CertificateHealth = {
  application: string
  channel: VendorChannel
  environment: Environment
  /** Unset: the vendor's usual one. */
  region?: string
  state: CertificateState
  lastError: string | null
  /** Of a closed one. */
  closedAt: Date | null
  probeAt: Date | null
  expiresAt: Date | null
  health: ShownHealth
}

/** Returns all certificates of all applications, without their secrets. */
export async function certificateHealth(db: Database): Promise<CertificateHealth[]> {
  const rows = await db.prisma.certificate.findMany({
    include: { breaker: true, holds: { orderBy: { scope: 'asc' } } },
    omit: { sealed: true, callbackKey: true, callbackKeySealed: true },
    orderBy: [{ appId: 'asc' }, { channel: 'asc' }, { environment: 'desc' }],
  })
  const now = Date.now()
  return rows.map((row) => ({
    application: row.appId,
    channel: row.channel as VendorChannel,
    environment: environmentOf(row.environment),
    region: row.region || undefined,
    state: row.state as CertificateState,
    lastError: row.lastError,
    closedAt: row.closedAt,
    probeAt: row.probeAt,
    expiresAt: row.expiresAt,
    health: shownHealth(
      {
        checkError: row.checkError ?? undefined,
        checkErrorAt: row.checkErrorAt?.getTime(),
        breaker: row.breaker
          ? {
              ...row.breaker,
              openedAt: row.breaker.openedAt.getTime(),
              retryAt: row.breaker.retryAt.getTime(),
            }
          : undefined,
        holds: row.holds.map((hold) => ({
          ...hold,
          kind: hold.kind as StoredHold['kind'],
          firstAt: hold.firstAt.getTime(),
          lastAt: hold.lastAt.getTime(),
          until: hold.until.getTime(),
        })),
      },
      now,
    ),
  }))
}

/** Number of stored secrets that the master key opens, that another given key opens, and that none opens. */
export type SealHealth = { current: number; others: number; broken: number }

export async function sealHealth(db: Database, sealer: Sealer): Promise<SealHealth> {
  const health: SealHealth = { current: 0, others: 0, broken: 0 }
  for (const { read } of Object.values(sealedColumns)) {
    const { rows } = await db.pool.query<{ sealed: Buffer; bound_to: string }>(read)
    for (const { sealed, bound_to: boundTo } of rows)
      health[
        sealer.isCurrent(sealed, boundTo)
          ? 'current'
          : sealer.tryOpen(sealed, boundTo) !== undefined
            ? 'others'
            : 'broken'
      ]++
  }
  return health
}
