import { setTimeout as sleep } from 'node:timers/promises'
import type { Faults } from '@herald/channels'
import type { Database } from '@herald/db/store'
import type { VendorChannel } from '@herald/domain'
import { type Cast, CONCURRENCY } from './cast.ts'
import type { DrillPostgres } from './postgres-server.ts'
import type { QueueServers } from './queue-servers.ts'
import type { Fault, Storm } from './schedule.ts'
import type { Supervised } from './supervised.ts'
import type { Vendors } from './vendors.ts'

export type FaultPlaces = {
  cast: Cast
  db: Database
  postgres: DrillPostgres
  queue: QueueServers
  vendors: Vendors
  /** So many devices may now get their push twice, because a worker cannot write down who has it. */
  allow(devices: number): void
}

/** Makes one fault and resolves when it is over. */
export async function makeFault(fault: Fault, places: FaultPlaces): Promise<void> {
  const { cast, postgres, queue } = places
  switch (fault.kind) {
    case 'kill': {
      const victim = processOf(cast, fault.victim)
      // Stopped first, so that what it has under way can be counted before it is gone.
      victim.signal('SIGSTOP')
      const counting = allowUnderWay(fault.victim, places)
      await Promise.race([counting, sleep(MOST_STOPPED_MS)])
      await victim.kill('SIGKILL')
      await counting
      return
    }
    case 'terminate': {
      // A vendor that hangs is given up at the end of the drain.
      await allowUnderWay(fault.victim, places)
      await processOf(cast, fault.victim).kill('SIGTERM')
      return
    }
    case 'freeze':
    case 'freeze-past-lease':
      return processOf(cast, fault.victim).freeze(fault.seconds, () => allowUnderWay(fault.victim, places))
    case 'clock-jump':
      return jumpClock(processOf(cast, fault.victim), fault.seconds)
    case 'queue-crash':
      return queue.crash(fault.node, fault.seconds)
    case 'queue-flush':
      return queue.flush(fault.node)
    case 'queue-freeze':
      return queue.freeze(fault.node, fault.seconds)
    case 'postgres-crash':
      return postgres.crash(fault.signal)
    case 'table-lock':
      return lockTable(places.db, fault.table, fault.seconds)
    case 'slow-commits':
      return slowCommits(places.db, fault.seconds)
    case 'cut-clients':
      cast.front.cut()
      cast.native.cut()
      return
    case 'storm':
      return brewStorm(places, fault.storm, fault.channels, fault.share, fault.seconds)
  }
}

function processOf({ byName }: Cast, name: string): Supervised {
  const found = byName.get(name)
  if (!found) throw new Error(`nobody plays ${name}`)
  return found
}

const JOB_RECIPIENTS = 1000
const MOST_STOPPED_MS = 1500
/** Its rows stay as they are until its leases end, so that a Postgres that is away can be asked later. */
const MOST_ASKING_MS = 20_000

/** Counts the recipients that a worker holds unwritten; if Postgres stays away, the most it can hold. */
async function allowUnderWay(name: string, { cast, db, allow }: FaultPlaces): Promise<void> {
  const role = cast.roles.find((one) => one.name === name)
  if (role?.part !== 'worker') return
  for (const until = performance.now() + MOST_ASKING_MS; ; await sleep(200)) {
    try {
      const { rows } = await db.pool.query<{ devices: number }>(
        `SELECT coalesce(sum(length(status) - length(replace(status, '.', ''))), 0)::int AS devices FROM batch
         WHERE state = 'sending' AND split_part(worker, ' ', 1) LIKE '%@' || $1`,
        [name],
      )
      return allow(rows[0]!.devices)
    } catch {
      if (performance.now() > until) return allow(CONCURRENCY * JOB_RECIPIENTS * role.channels.length)
    }
  }
}

async function jumpClock(victim: Supervised, seconds: number): Promise<void> {
  const pid = victim.pid()
  if (!victim.signal('SIGUSR2')) return
  await sleep(seconds * 1000)
  if (victim.pid() === pid) victim.signal('SIGUSR2')
}

async function lockTable(db: Database, table: string, seconds: number): Promise<void> {
  const client = await db.pool.connect()
  try {
    await client.query(
      `BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(${seconds}); COMMIT`,
    )
  } finally {
    client.release(true)
  }
}

/** What a slow disk does to every commit: Postgres itself waits a tenth of a second before it flushes. */
async function slowCommits(db: Database, seconds: number): Promise<void> {
  const set = async (delay: number, siblings: number) => {
    await db.pool.query(`ALTER SYSTEM SET commit_delay = ${delay}`)
    await db.pool.query(`ALTER SYSTEM SET commit_siblings = ${siblings}`)
    await db.pool.query('SELECT pg_reload_conf()')
  }
  await set(100_000, 0)
  await sleep(seconds * 1000)
  // A crash in between must not leave the disk slow for the rest of the drill.
  for (;;) {
    try {
      await set(0, 5)
      return
    } catch {
      await sleep(200)
    }
  }
}

const faultsOf: Record<Storm, (share: number) => Faults> = {
  throttle: (share) => ({ throttle: share }),
  unavailable: (share) => ({ unavailable: share }),
  hang: (share) => ({ hang: share }),
  cut: (share) => ({ cut: share }),
  latency: (seconds) => ({ latencyMs: Math.round(seconds * 1000) }),
  goaway: (requests) => ({ goawayAfter: requests }),
  'expired-auth': () => ({ expireAuth: true }),
}

async function brewStorm(
  { vendors }: FaultPlaces,
  storm: Storm,
  channels: readonly VendorChannel[],
  share: number,
  seconds: number,
): Promise<void> {
  await Promise.all(channels.map((channel) => vendors.setFaults(channel, faultsOf[storm](share))))
  await sleep(seconds * 1000)
  await Promise.all(channels.map((channel) => vendors.setFaults(channel, {})))
}
