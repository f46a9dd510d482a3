import { ErrorCode } from './frames.ts'
import type { Failure, Multicast } from './multicast.ts'
import type { Reply } from './reply.ts'
import type { RequestShape } from './request-shape.ts'

const defaultTimeoutMs = 10_000
const defaultDeadlineMs = 60_000

/** Counted over all jobs of a pool. */
export type Totals = { replies: number; unsent: number; unknown: number; replays: number }

/**
 * One multicast under way. Every index is in exactly one place: not yet taken, waiting to be replayed, on a stream, or
 * settled; `settled` guards that the caller hears of it once.
 */
export class Job {
  readonly shape: RequestShape
  readonly timeoutMs: number
  /** On the pool's clock. Moves nearer when the call is aborted. */
  deadline: number
  /** Nothing more is to be sent. */
  stopped: Failure | undefined
  private readonly count: number
  private readonly onReply: Multicast['onReply']
  private readonly onFailure: Multicast['onFailure']
  private readonly onDone: (callbackError: unknown) => void
  private readonly maxReplays: number
  private readonly totals: Totals
  private fresh = 0
  private again: number[] = []
  private againAt = 0
  private remaining: number
  private readonly settled: Uint8Array
  private attempts: Uint8Array | undefined
  private callbackError: unknown

  constructor(
    shape: RequestShape,
    request: Multicast,
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

  get waiting(): number {
    return this.count - this.fresh + this.again.length - this.againAt
  }

  /** The next index to send, or -1. */
  take(): number {
    if (this.fresh < this.count) return this.fresh++
    if (this.againAt === this.again.length) return -1
    const index = this.again[this.againAt++]!
    if (this.againAt === this.again.length) {
      this.again = []
      this.againAt = 0
    }
    return index
  }

  /** Takes back what the server certainly did not process; returns whether it will be sent again. */
  takeBack(index: number, failure: Failure): boolean {
    if (this.settled[index] === 1) return false
    this.attempts ??= new Uint8Array(this.count)
    const attempts = this.attempts[index]! + (isOrderly(failure) ? 0 : 1)
    if (this.stopped !== undefined || attempts > this.maxReplays) {
      this.fail(index, failure)
      return false
    }
    this.attempts[index] = attempts
    this.totals.replays += 1
    this.again.push(index)
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

  fail(index: number, failure: Failure): void {
    if (!this.settle(index)) return
    this.totals[failure.kind] += 1
    try {
      this.onFailure(index, failure)
    } catch (error) {
      this.callbackError ??= error
    }
    this.finishIfLast()
  }

  /** Sends nothing more: all that waits is reported with `failure`, what is under way ends by itself or by its deadline. */
  stop(failure: Failure, deadline: number): void {
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

/** A server that served and then says goodbye in order is no reason to give up on it, however often: some do it every so many requests. */
function isOrderly({ goaway }: Failure): boolean {
  return goaway !== undefined && goaway.code === ErrorCode.noError && goaway.lastStream > 0
}
