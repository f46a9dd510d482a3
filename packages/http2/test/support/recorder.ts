import type { MulticastRequest, Reply, RequestFailure } from '../../src/index.ts'

/** Records what a multicast reports, and indices that it reports twice. */
export class Recorder {
  readonly replies = new Map<number, Reply>()
  readonly failures = new Map<number, RequestFailure>()
  readonly twice: number[] = []

  readonly callbacks: Pick<MulticastRequest, 'onReply' | 'onFailure'> = {
    onReply: (index, reply) => this.note(this.replies, index, reply),
    onFailure: (index, failure) => this.note(this.failures, index, failure),
  }

  get reported(): number {
    return this.replies.size + this.failures.size
  }

  /** `200`, `unsent:goaway`, …; undefined while nothing was reported. */
  outcome(index: number): string | undefined {
    const failure = this.failures.get(index)
    return failure === undefined
      ? this.replies.get(index)?.status.toString()
      : `${failure.kind}:${failure.reason}`
  }

  outcomes(count: number): (string | undefined)[] {
    return Array.from({ length: count }, (_, index) => this.outcome(index))
  }

  /** Number of indices per outcome. */
  tally(): Record<string, number> {
    const tally: Record<string, number> = {}
    for (const index of [...this.replies.keys(), ...this.failures.keys()]) {
      const outcome = this.outcome(index)!
      tally[outcome] = (tally[outcome] ?? 0) + 1
    }
    return tally
  }

  private note<T>(map: Map<number, T>, index: number, value: T): void {
    if (this.replies.has(index) || this.failures.has(index)) this.twice.push(index)
    map.set(index, value)
  }
}
