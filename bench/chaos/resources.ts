import { readdirSync } from 'node:fs'
import { sleep } from '@herald/async'
import type { Database } from '@herald/db/store'
import { residentMb } from '../process-figures.ts'
import type { Processes } from './processes.ts'
import type { QueueServers } from './queue-servers.ts'

/** Resources that idle processes use. */
export type Resources = {
  /** Largest resident memory of a process, by role, in MB. */
  memory: Record<string, number>
  /** Open file descriptors of all processes, by role. */
  descriptors: Record<string, number>
  postgres: number
  /** Transactions that were begun and not ended. */
  idleInTransaction: number
  queue: number
}

export async function measureResources(
  { list, byName }: Processes,
  db: Database,
  queue: QueueServers,
): Promise<Resources> {
  const memory: Record<string, number> = {}
  const descriptors: Record<string, number> = {}
  for (const { name, role } of list) {
    const pid = byName.get(name)?.pid() ?? 0
    memory[role] = Math.max(memory[role] ?? 0, Math.round(residentMb(pid) ?? 0))
    descriptors[role] = (descriptors[role] ?? 0) + descriptorsOf(pid)
  }
  const { rows } = await db.pool.query<{ all: number; idle: number }>(
    `SELECT count(*)::int AS all,
       (count(*) FILTER (WHERE state = 'idle in transaction' AND now() - xact_start > interval '5 seconds'))::int AS idle
     FROM pg_stat_activity WHERE backend_type = 'client backend'`,
  )
  return {
    memory,
    descriptors,
    postgres: rows[0]!.all,
    idleInTransaction: rows[0]!.idle,
    queue: await queue.connections(),
  }
}

function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0
  }
}

/** A warm process keeps its code, pools and caches. These limits only find memory that grows with the load. */
const MEMORY_FACTOR = 2
const MEMORY_MB = 150
const FACTOR = 1.5
const SPARE_CONNECTIONS = 40
/** Connections to vendors stay open for about a minute after the last call. */
const SPARE_DESCRIPTORS = 200

/** Returns one sentence per resource that was not released. */
export function findLeaks(before: Resources, after: Resources): string[] {
  const leaks: string[] = []
  const check = (what: string, was: number, is: number, limit: number) => {
    if (is > limit) leaks.push(`${is} ${what} after the load, ${was} before`)
  }
  for (const [role, mb] of Object.entries(after.memory)) {
    const was = before.memory[role] ?? 0
    check(`MB of memory of ${role}`, was, mb, was * MEMORY_FACTOR + MEMORY_MB)
  }
  for (const [role, count] of Object.entries(after.descriptors)) {
    const was = before.descriptors[role] ?? 0
    check(`file descriptors of ${role}`, was, count, was * FACTOR + SPARE_DESCRIPTORS)
  }
  for (const [what, server] of [
    ['Postgres', 'postgres'],
    ['the queue', 'queue'],
  ] as const)
    check(
      `connections to ${what}`,
      before[server],
      after[server],
      before[server] * FACTOR + SPARE_CONNECTIONS,
    )
  if (after.idleInTransaction > 0) leaks.push(`${after.idleInTransaction} transactions were left open`)
  return leaks
}

/** Measures until nothing leaks, because idle pools shrink slowly; returns the last measurement and its leaks. */
export async function untilReleased(
  before: Resources,
  measure: () => Promise<Resources>,
  seconds: number,
): Promise<{ after: Resources; leaks: string[] }> {
  for (const until = Date.now() + seconds * 1000; ; await sleep(1000)) {
    const after = await measure()
    const leaks = findLeaks(before, after)
    if (leaks.length === 0 || Date.now() > until) return { after, leaks }
  }
}
