import { backoffMs } from './backoff.ts'
import { Link, type LinkEnd, type LinkOptions } from './link.ts'
import type { Multicast } from './multicast.ts'
import type { Goaway, RequestFailure } from './multicast-request.ts'

export type LinkSetOptions = LinkOptions & { maxConnections: number; random: () => number }

export type LinkSetEvents = {
  onUnsent(multicast: Multicast, index: number, failure: RequestFailure): void
  onProgress(): void
  onEvent(event: PoolEvent): void
}

/** Events for logs and metrics; the protocol does not depend on them. */
export type PoolEvent =
  | { kind: 'connected'; afterMs: number }
  | { kind: 'goaway'; goaway: Goaway }
  /** `nextAttemptMs` is the wait before another connection may be opened. */
  | { kind: 'closed'; message: string; established: boolean; answered: number; nextAttemptMs: number }

/** A connection that got replies and lasted this long does not count as a failure, however it ended. */
const provenMs = 10_000
/** Minimum interval between additional connections: servers treat a burst of connections as an attack. */
const growEveryMs = 500

/** The pool's connections. Opens new ones when needed, no sooner than the backoff allows. */
export class LinkSet {
  readonly links = new Set<Link>()
  /** Why the last connection ended or could not be established. */
  lastError = 'no connection has been established yet'
  /** No connection is opened before this time (clock of performance.now()). */
  nextAttemptAt = 0
  opened = 0
  lastGoaway: Goaway | undefined
  private failures = 0
  private lastOpenedAt = Number.NEGATIVE_INFINITY
  private readonly options: LinkSetOptions
  private readonly events: LinkSetEvents

  constructor(options: LinkSetOptions, events: LinkSetEvents) {
    this.options = options
    this.events = events
  }

  /** The link with the most capacity, if any has capacity. */
  withMostCapacity(): Link | undefined {
    let best: Link | undefined
    let max = 0
    for (const link of this.links) {
      const { capacity } = link
      if (capacity > max) {
        best = link
        max = capacity
      }
    }
    return best
  }

  /** Called when requests wait and no link has capacity: opens another link if limits and backoff allow it. */
  grow(now: number): void {
    if (now < this.nextAttemptAt) return
    let usable = 0
    for (const link of this.links) {
      if (link.draining) continue
      usable += 1
      if (!link.saturated) return
    }
    if (usable > 0 && (usable >= this.options.maxConnections || now - this.lastOpenedAt < growEveryMs)) return
    this.open(now)
  }

  /** Whether there is no usable link and the backoff ends after `deadline`. */
  cannotSendBefore(deadline: number): boolean {
    if (this.nextAttemptAt <= deadline) return false
    for (const link of this.links) if (!link.draining) return false
    return true
  }

  private open(now: number): void {
    this.lastOpenedAt = now
    this.opened += 1
    const link: Link = new Link(this.options, {
      onUnsent: this.events.onUnsent,
      onProgress: this.events.onProgress,
      onReady: () => this.events.onEvent({ kind: 'connected', afterMs: performance.now() - link.openedAt }),
      onGoaway: (goaway) => {
        this.lastGoaway = goaway
        this.events.onEvent({ kind: 'goaway', goaway })
      },
      onClosed: (end) => this.remove(link, end),
    })
    this.links.add(link)
  }

  private remove(link: Link, end: LinkEnd): void {
    this.links.delete(link)
    const now = performance.now()
    const answered = link.connection?.exchanges.answered ?? 0
    const proven = end.clean || (answered > 0 && now - link.openedAt > provenMs)
    this.failures = proven ? 0 : this.failures + 1
    this.lastError = end.message
    const wait = backoffMs(this.failures, this.options.random())
    this.nextAttemptAt = Math.max(this.nextAttemptAt, now + wait)
    const { message, wasReady: established } = end
    this.events.onEvent({ kind: 'closed', message, established, answered, nextAttemptMs: wait })
    this.events.onProgress()
  }
}
