import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '@herald/db/store'
import { residentMb } from '../process-figures.ts'
import type { Cast } from './cast.ts'
import type { QueueServers } from './queue-servers.ts'

/** What the system holds on to when nothing is to be done. */
export type Rest = {
  /** Largest resident memory of a process, by part, in MB. */
  memory: Record<string, number>
  /** Open descriptors of all processes of a part together. */
  descriptors: Record<string, number>
  postgres: number
  /** Transactions that were begun and left. */
  idleInTransaction: number
  queue: number
}

export async function measureRest({ roles, byName }: Cast, db: Database, queue: QueueServers): Promise<Rest> {
  const memory: Record<string, number> = {}
  const descriptors: Record<string, number> = {}
  for (const { name, part } of roles) {
    const pid = byName.get(name)?.pid() ?? 0
    memory[part] = Math.max(memory[part] ?? 0, Math.round(residentMb(pid) ?? 0))
    descriptors[part] = (descriptors[part] ?? 0) + descriptorsOf(pid)
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

/** A warm process keeps its code, pools and caches; what it may not keep is more the longer it has worked. */
const MEMORY_FACTOR = 2
const MEMORY_MB = 150
const SLACK = 1.5
const SPARE_CONNECTIONS = 40
/** Connections to vendors stay open for about a minute after the last call. */
const SPARE_DESCRIPTORS = 200

/** One sentence for everything that did not come back to what it was before the load. Pure. */
export function judgeRest(before: Rest, after: Rest): string[] {
  const broken: string[] = []
  for (const [part, mb] of Object.entries(after.memory)) {
    const most = (before.memory[part] ?? 0) * MEMORY_FACTOR + MEMORY_MB
    if (mb > most) broken.push(`${part} holds ${mb} MB at rest, ${before.memory[part]} MB before`)
  }
  const compare = (what: string, was: number, is: number, spare: number) => {
    if (is > was * SLACK + spare) broken.push(`${is} ${what} at rest, ${was} before`)
  }
  for (const [part, count] of Object.entries(after.descriptors))
    compare(`descriptors of ${part}`, before.descriptors[part] ?? 0, count, SPARE_DESCRIPTORS)
  compare('connections to Postgres', before.postgres, after.postgres, SPARE_CONNECTIONS)
  compare('connections to the queue', before.queue, after.queue, SPARE_CONNECTIONS)
  if (after.idleInTransaction > 0) broken.push(`${after.idleInTransaction} transactions were left open`)
  return broken
}

/** Idle pools shrink after a while; answers the last measurement and what is wrong with it. */
export async function settleDown(
  before: Rest,
  measure: () => Promise<Rest>,
  seconds: number,
): Promise<{ rest: Rest; broken: string[] }> {
  for (const until = Date.now() + seconds * 1000; ; await sleep(1000)) {
    const rest = await measure()
    const broken = judgeRest(before, rest)
    if (broken.length === 0 || Date.now() > until) return { rest, broken }
  }
}
