import type { Link } from './link.ts'
import type { LinkSet } from './link-set.ts'
import type { Multicast, Totals } from './multicast.ts'
import type { Goaway } from './multicast-request.ts'

export type ConnectionStats = {
  state: 'connecting' | 'open' | 'draining'
  ageMs: number
  streams: number
  /** Maximum number of open streams: the lower of the server's limit and ours. */
  streamLimit: number
  answered: number
  /** Round trip time of the last ping. */
  roundTripMs?: number
  bytesWritten: number
}

export type PoolStats = Totals & {
  connections: ConnectionStats[]
  /** Number of connections attempted since the pool was opened. */
  opened: number
  /** Requests not yet sent. */
  waiting: number
  /** Why the last connection ended. */
  lastError?: string
  lastGoaway?: Goaway
}

export function readStats(set: LinkSet, multicasts: readonly Multicast[], totals: Totals): PoolStats {
  const now = performance.now()
  return {
    ...totals,
    connections: [...set.links].map((link) => readLink(link, now)),
    opened: set.opened,
    waiting: multicasts.reduce((sum, multicast) => sum + multicast.unsentCount, 0),
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
