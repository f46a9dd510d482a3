import { sleep, within } from '@herald/async'
import { letters, type VendorChannel } from '@herald/domain'
import type { Faults } from '@herald/simulators'
import type { Deployment } from './deployment.ts'
import { lockTable, makeReadOnly, slowDisk } from './postgres-faults.ts'
import { CONCURRENCY, type Processes } from './processes.ts'
import type { Fault } from './schedule.ts'
import type { Supervised } from './supervised.ts'
import { stormFaults, type VendorFaults } from './vendor-faults.ts'

export type FaultTargets = Deployment & {
  /** Adds pushes that may be sent twice, because a worker cannot record that they were sent: how many, and which if that is known. */
  allow(count: number, pushes?: readonly PushInFlight[]): void
  vendorFaults: VendorFaults
  /** Sends pushes of the other application for `seconds`. */
  flood(seconds: number): Promise<void>
  onBroken(sentence: string): void
}

/** A push that a worker had claimed and not settled when it was stopped. */
export type PushInFlight = { task: number; device: number; channel: VendorChannel }

/** Makes one fault and resolves when it is over. */
export async function makeFault(fault: Fault, targets: FaultTargets): Promise<void> {
  const { processes, db, postgres, queue, vendorFaults } = targets
  const during = () => sleep('seconds' in fault ? fault.seconds * 1000 : 0)
  // A fault of a vendor that could not be ended would be taken for a failure of Herald.
  const disturb = (channels: readonly VendorChannel[], faults: Faults) =>
    vendorFaults
      .disturb(channels, faults, during)
      .catch((error: Error) => targets.onBroken(`faults of ${channels.join(', ')}: ${error.message}`))
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
    case 'slow-disk':
      return slowDisk(db, postgres.pid, fault.seconds)
    case 'read-only':
      return makeReadOnly(db, during)
    case 'disk-full':
      return postgres.fillDisk(during).catch((error: Error) => targets.onBroken(error.message))
    case 'flood':
      return targets.flood(fault.seconds)
    case 'cut-host':
      return cutHost(fault.victim, fault.seconds, targets)
    case 'cut-clients':
      processes.apiBalancer.cut()
      processes.gatewayBalancer.cut()
      return
    case 'storm':
      return disturb(fault.channels, stormFaults(fault.storm, fault.share))
    case 'vendor-refuses':
      return disturb([fault.channel], { refuseAuth: true })
    case 'vendor-hangs':
      return disturb([fault.channel], { hang: 1 })
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

/** Allows what a worker has in flight; if Postgres stays unreachable, the maximum it can have. */
async function allowInFlight(name: string, { processes, db, allow }: FaultTargets): Promise<void> {
  const victim = processes.list.find((one) => one.name === name)
  if (victim?.role !== 'worker') return
  for (const until = performance.now() + MAX_ASKING_MS; ; await sleep(200)) {
    try {
      const { rows } = await db.pool.query<PushInFlight>(
        `SELECT r.task, r.device, b.channel FROM (
           SELECT channel, array_fill(task_id, ARRAY[length(status)]) AS tasks, recipients, status, state, worker FROM batch
           UNION ALL SELECT channel, tasks, recipients, status, state, worker FROM bundle) b
         CROSS JOIN LATERAL unnest(b.tasks, b.recipients, string_to_array(b.status, NULL)) AS r (task, device, letter)
         WHERE b.state = 'sending' AND split_part(b.worker, ' ', 1) LIKE '%@' || $1 AND r.letter = $2`,
        [name, letters.pending],
      )
      return allow(rows.length, rows)
    } catch {
      if (performance.now() > until) return allow(CONCURRENCY * JOB_RECIPIENTS * victim.channels.length)
    }
  }
}

/** What the host sent before the cut arrives within this time, claims among it. */
const ARRIVAL_MS = 300

/** A worker that is cut off still reaches its vendor, but cannot record what it sends. */
async function cutHost(name: string, seconds: number, targets: FaultTargets): Promise<void> {
  const { links } = targets
  await links.cut(name)
  try {
    const counting = sleep(ARRIVAL_MS).then(() => allowInFlight(name, targets))
    await Promise.all([sleep(seconds * 1000), counting])
  } finally {
    await links.restore(name)
  }
}

async function jumpClock(victim: Supervised, seconds: number): Promise<void> {
  const pid = victim.pid()
  if (!victim.signal('SIGUSR2')) return
  await sleep(seconds * 1000)
  if (victim.pid() === pid) victim.signal('SIGUSR2')
}
