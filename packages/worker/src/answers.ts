import { addAnswers } from '@herald/db/certificates'
import type { Database } from '@herald/db/store'

/**
 * The answers about tokens that this process got and has not written yet. All settles of a certificate would change the same row, and
 * each would keep the others waiting until it is flushed to disk; so the row is written once per second, and by settles that report dead
 * tokens, for which the guard against mass retirement needs the number.
 */
export type Answers = {
  add(certificateId: number, answered: number): void
  /** Returns those of a certificate; the caller writes them. */
  take(certificateId: number): number
  /** Writes the rest; afterwards other processes know of all. */
  flush(): Promise<void>
}

/** How long an answer may be unknown to other processes. */
export const ANSWERS_WRITTEN_MS = 1000

export function createAnswers(db: Database, onError: (error: unknown) => void): Answers {
  let gathered = new Map<number, number>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  function add(certificateId: number, answered: number): void {
    if (answered === 0) return
    gathered.set(certificateId, (gathered.get(certificateId) ?? 0) + answered)
    timer ??= setTimeout(write, ANSWERS_WRITTEN_MS).unref()
  }
  function write(): void {
    clearTimeout(timer)
    timer = undefined
    if (gathered.size === 0) return
    const taken = gathered
    gathered = new Map()
    writing = addAnswers(db, taken).catch((error) => {
      for (const [certificateId, answered] of taken) add(certificateId, answered)
      onError(error)
    })
  }
  return {
    add,
    take(certificateId) {
      const answered = gathered.get(certificateId) ?? 0
      gathered.delete(certificateId)
      return answered
    },
    async flush() {
      await writing
      write()
      await writing
    },
  }
}
