import { ErrorCode } from './frames.ts'
import type { MulticastRequest, RequestFailure } from './multicast-request.ts'
import type { Reply } from './reply.ts'
import type { RequestShape } from './request-shape.ts'

const defaultTimeoutMs = 10_000
const defaultDeadlineMs = 60_000

/** Totals over all multicasts of a pool. */
export type Totals = { replies: number; unsent: number; unknown: number; replays: number }

/**
 * A multicast in progress. Every index is in exactly one state: not yet taken, waiting to be replayed, on a stream, or
 * settled; `settled` ensures that it is reported once.
 */
export class Multicast {
  readonly shape: RequestShape
  readonly timeoutMs: number
  /** On the pool's clock. Moved forward when the call is aborted. */
  deadline: number
  /** Set when nothing more may be sent. */
  stopped: RequestFailure | undefined
  private readonly count: number
  private readonly onReply: MulticastRequest['onReply']
  private readonly onFailure: MulticastRequest['onFailure']
  private readonly onDone: (callbackError: unknown) => void
  private readonly maxReplays: number
  private readonly totals: Totals
  private nextIndex = 0
  private replays: number[] = []
  private replayAt = 0
  private remaining: number
  private readonly settled: Uint8Array
  private attempts: Uint8Array | undefined
  private callbackError: unknown

  constructor(
    shape: RequestShape,
    request: MulticastRequest,
    now: number,
    maxReplays: number,
    totals: Totals,
    onDone: (callbackError: unknown) => void,
  ) {
    this.shape = shape
    this.count = request.count
    this.remaining = request.count
    this.settled = new Uint8Array(request.count)
    this.timeoutMs = request.timeoutMs ?? defaultTimeoutMs
    this.deadline = now + (request.deadlineMs ?? defaultDeadlineMs)
    this.onReply = request.onReply
    this.onFailure = request.onFailure
    this.maxReplays = maxReplays
    this.totals = totals
    this.onDone = onDone
  }

  get done(): boolean {
    return this.remaining === 0
  }

  get unsentCount(): number {
    return this.count - this.nextIndex + this.replays.length - this.replayAt
  }

  /** The next index to send, or -1. */
  take(): number {
    if (this.nextIndex < this.count) return this.nextIndex++
    if (this.replayAt === this.replays.length) return -1
    const index = this.replays[this.replayAt++]!
    if (this.replayAt === this.replays.length) {
      this.replays = []
      this.replayAt = 0
    }
    return index
  }

  /** Queues a request again that the server certainly did not process; returns false if it is reported as failed instead. */
  replay(index: number, failure: RequestFailure): boolean {
    if (this.settled[index] === 1) return false
    this.attempts ??= new Uint8Array(this.count)
    const attempts = this.attempts[index]! + (isGracefulShutdown(failure) ? 0 : 1)
    if (this.stopped !== undefined || attempts > this.maxReplays) {
      this.fail(index, failure)
      return false
    }
    this.attempts[index] = attempts
    this.totals.replays += 1
    this.replays.push(index)
    return true
  }

  reply(index: number, reply: Reply): void {
    if (!this.settle(index)) return
    this.totals.replies += 1
    try {
      this.onReply(index, reply)
    } catch (error) {
      this.callbackError ??= error
    }
    this.finishIfLast()
  }

  fail(index: number, failure: RequestFailure): void {
    if (!this.settle(index)) return
    this.totals[failure.kind] += 1
    try {
      this.onFailure(index, failure)
    } catch (error) {
      this.callbackError ??= error
    }
    this.finishIfLast()
  }

  /** Reports all unsent requests with `failure`. Requests in flight end by their reply or at the deadline. */
  stop(failure: RequestFailure, deadline: number): void {
    this.stopped ??= failure
    this.deadline = Math.min(this.deadline, deadline)
    for (let index = this.take(); index >= 0; index = this.take()) this.fail(index, failure)
  }

  private settle(index: number): boolean {
    if (this.settled[index] === 1) return false
    this.settled[index] = 1
    return true
  }

  private finishIfLast(): void {
    this.remaining -= 1
    if (this.remaining === 0) this.onDone(this.callbackError)
  }
}

/** Some servers send GOAWAY with NO_ERROR after a fixed number of requests, so such a replay is not counted towards the limit. */
function isGracefulShutdown({ goaway }: RequestFailure): boolean {
  return goaway !== undefined && goaway.code === ErrorCode.noError && goaway.lastStream > 0
}
