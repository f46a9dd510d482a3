import { backoffMs } from './backoff.ts'
import type { Job } from './job.ts'
import { Link, type LinkEnd, type LinkOptions } from './link.ts'
import type { Failure, Goaway } from './multicast.ts'

export type LinkSetOptions = LinkOptions & { maxConnections: number; random: () => number }

export type LinkSetEvents = {
  onUnsent(job: Job, index: number, failure: Failure): void
  onProgress(): void
  onEvent(event: PoolEvent): void
}

/** For logs and metrics; nothing may depend on them. */
export type PoolEvent =
  | { kind: 'connected'; afterMs: number }
  | { kind: 'goaway'; goaway: Goaway }
  /** `nextAttemptMs` is the wait before another connection may be opened. */
  | { kind: 'closed'; message: string; established: boolean; answered: number; nextAttemptMs: number }

/** A connection that served so long has proved its server good, however it ended. */
const provenMs = 10_000
/** Full connections are joined by another no faster than this: servers take a burst of connections for an attack. */
const growEveryMs = 500

/** The pool's connections: opens what is needed, no sooner than backoff allows. */
export class LinkSet {
  readonly links = new Set<Link>()
  /** Why there is no connection, as far as known. */
  lastError = 'no connection has been established yet'
  /** On performance.now()'s clock: no connection is opened before. */
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

  /** The link that takes most, if any takes something. */
  roomiest(): Link | undefined {
    let best: Link | undefined
    let most = 0
    for (const link of this.links) {
      const { capacity } = link
      if (capacity > most) {
        best = link
        most = capacity
      }
    }
    return best
  }

  /** Work is waiting that no link takes: opens one more if that is allowed and may help. */
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

  /** Whether anything can be sent before `deadline`, as far as can be foreseen. */
  hopelessUntil(deadline: number): boolean {
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
