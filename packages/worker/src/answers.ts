import { addAnswers, type SentFigures } from '@herald/db/certificates'
import type { Database } from '@herald/db/store'
import type { ClaimedBatch } from '@herald/db/tasks'
import { clip, describeReason } from '@herald/domain'
import type { Tally } from './tally.ts'

/** What a batch was sent with. */
type Place = Pick<ClaimedBatch, 'appId' | 'channel' | 'certificateId'>

/**
 * What this process did and has not written yet: answers about tokens, and the figures of channels that the console shows. All settles
 * of a certificate would change the same rows, and each would keep the others waiting until it is flushed to disk; so they are written
 * together. Tokens once per second, and by settles that report dead ones, for which the guard against mass retirement needs the number;
 * figures every few seconds. A process that dies loses what it has gathered.
 */
export type Answers = {
  add(certificateId: number, answered: number): void
  /** Returns those of a certificate; the caller writes them. */
  take(certificateId: number): number
  /** The results of a batch were written. */
  settled(batch: Place, devices: { sent: number; failed: number }): void
  /** The outcomes of an attempt other than accepted. */
  refused(batch: Place, tally: Tally): void
  /** Writes the rest; afterwards other processes know of all. */
  flush(): Promise<void>
}

/** How long an answer may be unknown to other processes. */
export const ANSWERS_WRITTEN_MS = 1000
/** How long figures are gathered: a row of them is five times as long, and nothing depends on them. */
const FIGURES_WRITTEN_MS = 5000

/** The vendor did not decide about the message. */
const undecided: ReadonlySet<string> = new Set(['unavailable', 'throttled', 'misconfigured'])
const decided: ReadonlySet<string> = new Set(['gone', 'rejected'])

export function createAnswers(db: Database, onError: (error: unknown) => void): Answers {
  let gathered = new Map<number, number>()
  // By certificate; those of the native channel by application.
  let figures = new Map<number | string, SentFigures>()
  let figuresSince = 0
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  function schedule(): void {
    timer ??= setTimeout(write, ANSWERS_WRITTEN_MS).unref()
  }
  function add(certificateId: number, answered: number): void {
    if (answered === 0) return
    gathered.set(certificateId, (gathered.get(certificateId) ?? 0) + answered)
    schedule()
  }
  function figuresOf({ appId, channel, certificateId }: Place): SentFigures {
    const key = certificateId ?? appId
    let found = figures.get(key)
    if (!found) {
      if (figures.size === 0) figuresSince = performance.now()
      found = { appId, channel, certificateId, sent: 0, failed: 0, answered: 0, unanswered: 0 }
      figures.set(key, found)
      schedule()
    }
    return found
  }
  function write(all?: true): void {
    clearTimeout(timer)
    timer = undefined
    const areDue = all || performance.now() - figuresSince >= FIGURES_WRITTEN_MS - ANSWERS_WRITTEN_MS / 2
    const takenFigures = areDue ? [...figures.values()] : []
    if (areDue) figures = new Map()
    else if (figures.size > 0) schedule()
    if (gathered.size === 0 && takenFigures.length === 0) return
    const taken = gathered
    gathered = new Map()
    const written = addAnswers(db, taken, takenFigures).catch((error) => {
      for (const [certificateId, answered] of taken) add(certificateId, answered)
      // The figures are dropped: added later, they would be counted in the wrong minute.
      onError(error)
    })
    // An earlier write may still be in progress.
    writing = Promise.all([writing, written]).then(() => {})
  }
  return {
    add,
    take(certificateId) {
      const answered = gathered.get(certificateId) ?? 0
      gathered.delete(certificateId)
      return answered
    },
    settled(batch, { sent, failed }) {
      if (sent + failed === 0) return
      const found = figuresOf(batch)
      found.sent += sent
      found.answered += sent
      found.failed += failed
    },
    refused(batch, tally) {
      if (tally.size === 0) return
      const found = figuresOf(batch)
      let most = 0
      for (const { kind, count, reason } of tally.values()) {
        if (undecided.has(kind)) found.unanswered += count
        else if (decided.has(kind)) found.answered += count
        // Dead tokens are no error: people remove apps every day.
        if (kind === 'gone' || count <= most) continue
        most = count
        found.error = { code: reason.code, text: clip(describeReason(reason)) }
      }
    },
    async flush() {
      await writing
      write(true)
      await writing
    },
  }
}
