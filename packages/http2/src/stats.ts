import type { Job, Totals } from './job.ts'
import type { Link } from './link.ts'
import type { LinkSet } from './link-set.ts'
import type { Goaway } from './multicast.ts'

export type ConnectionStats = {
  state: 'connecting' | 'open' | 'draining'
  ageMs: number
  streams: number
  /** How many streams may be open at once, by the server's word and ours. */
  streamLimit: number
  answered: number
  /** Of the last ping. */
  roundTripMs?: number
  bytesWritten: number
}

export type PoolStats = Totals & {
  connections: ConnectionStats[]
  /** Connections ever attempted. */
  opened: number
  /** Requests not yet sent. */
  waiting: number
  /** Why the last connection ended. */
  lastError?: string
  lastGoaway?: Goaway
}

export function readStats(set: LinkSet, jobs: readonly Job[], totals: Totals): PoolStats {
  const now = performance.now()
  return {
    ...totals,
    connections: [...set.links].map((link) => readLink(link, now)),
    opened: set.opened,
    waiting: jobs.reduce((sum, job) => sum + job.waiting, 0),
    lastError: set.lastError,
    lastGoaway: set.lastGoaway,
  }
}

function readLink(link: Link, now: number): ConnectionStats {
  const { connection } = link
  return {
    state: link.draining ? 'draining' : link.ready ? 'open' : 'connecting',
    ageMs: now - link.openedAt,
    streams: connection?.exchanges.live ?? 0,
    streamLimit: connection?.streamLimit ?? 0,
    answered: connection?.exchanges.answered ?? 0,
    roundTripMs: connection?.heartbeat.roundTripMs,
    bytesWritten: link.bytesWritten,
  }
}
