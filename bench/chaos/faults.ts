import { retryWithBackoff, sleep, within } from '@herald/async'
import type { Database } from '@herald/db/store'
import type { VendorChannel } from '@herald/domain'
import type { Faults } from '@herald/simulators'
import type { Deployment } from './deployment.ts'
import { CONCURRENCY, type Processes } from './processes.ts'
import type { Fault, Storm } from './schedule.ts'
import type { Supervised } from './supervised.ts'

export type FaultTargets = Deployment & {
  /** Adds devices that may get their push twice, because a worker cannot record that it was sent. */
  allow(devices: number): void
}

/** Makes one fault and resolves when it is over. */
export async function makeFault(fault: Fault, targets: FaultTargets): Promise<void> {
  const { processes, db, postgres, queue } = targets
  switch (fault.kind) {
    case 'kill': {
      const victim = processOf(processes, fault.victim)
      // Stopped first, so that its recipients in flight can be counted before it is killed.
      victim.signal('SIGSTOP')
      const counting = allowInFlight(fault.victim, targets)
      await within(counting, MAX_STOPPED_MS, () => {})
      await victim.kill('SIGKILL')
      await counting
      return
    }
    case 'terminate': {
      // Calls to a vendor that hangs are aborted at the end of the drain.
      await allowInFlight(fault.victim, targets)
      await processOf(processes, fault.victim).kill('SIGTERM')
      return
    }
    case 'freeze':
    case 'freeze-past-lease':
      return processOf(processes, fault.victim).freeze(fault.seconds, () =>
        allowInFlight(fault.victim, targets),
      )
    case 'clock-jump':
      return jumpClock(processOf(processes, fault.victim), fault.seconds)
    case 'queue-crash':
      return queue.crash(fault.node, fault.seconds)
    case 'queue-flush':
      return queue.flush(fault.node)
    case 'queue-freeze':
      return queue.freeze(fault.node, fault.seconds)
    case 'postgres-crash':
      return postgres.crash(fault.signal)
    case 'table-lock':
      return lockTable(db, fault.table, fault.seconds)
    case 'slow-commits':
      return slowCommits(db, fault.seconds)
    case 'cut-clients':
      processes.apiBalancer.cut()
      processes.gatewayBalancer.cut()
      return
    case 'storm':
      return disturbVendors(targets, fault.storm, fault.channels, fault.share, fault.seconds)
  }
}

function processOf({ byName }: Processes, name: string): Supervised {
  const found = byName.get(name)
  if (!found) throw new Error(`there is no process ${name}`)
  return found
}

const JOB_RECIPIENTS = 1000
const MAX_STOPPED_MS = 1500
/** The rows of a stopped worker do not change until its leases expire, so an unreachable Postgres is asked again. */
const MAX_ASKING_MS = 20_000

/** Counts the recipients that a worker has in flight; if Postgres stays unreachable, the maximum it can have. */
async function allowInFlight(name: string, { processes, db, allow }: FaultTargets): Promise<void> {
  const victim = processes.list.find((one) => one.name === name)
  if (victim?.role !== 'worker') return
  for (const until = performance.now() + MAX_ASKING_MS; ; await sleep(200)) {
    try {
      const { rows } = await db.pool.query<{ devices: number }>(
        `SELECT coalesce(sum(length(status) - length(replace(status, '.', ''))), 0)::int AS devices FROM batch
         WHERE state = 'sending' AND split_part(worker, ' ', 1) LIKE '%@' || $1`,
        [name],
      )
      return allow(rows[0]!.devices)
    } catch {
      if (performance.now() > until) return allow(CONCURRENCY * JOB_RECIPIENTS * victim.channels.length)
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

/** Simulates a slow disk: Postgres waits 0.1 s before it flushes a commit. */
async function slowCommits(db: Database, seconds: number): Promise<void> {
  const set = async (delay: number, siblings: number) => {
    await db.pool.query(`ALTER SYSTEM SET commit_delay = ${delay}`)
    await db.pool.query(`ALTER SYSTEM SET commit_siblings = ${siblings}`)
    await db.pool.query('SELECT pg_reload_conf()')
  }
  await set(100_000, 0)
  await sleep(seconds * 1000)
  // Repeated, because a crash of Postgres must not leave commits slow for the rest of the drill.
  await retryWithBackoff(() => set(0, 5), { isTransient: () => true, firstMs: 200, maxMs: 200 })
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

async function disturbVendors(
  { vendors }: FaultTargets,
  storm: Storm,
  channels: readonly VendorChannel[],
  share: number,
  seconds: number,
): Promise<void> {
  await Promise.all(channels.map((channel) => vendors.setFaults(channel, faultsOf[storm](share))))
  await sleep(seconds * 1000)
  await Promise.all(channels.map((channel) => vendors.setFaults(channel, {})))
}
