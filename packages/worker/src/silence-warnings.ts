import type { Reason } from '@herald/domain'

/** Task ids that a line has at most. */
const MAX_TASKS = 20
export const WARNING_MS = 60_000
/** Tasks of a minute that are told apart. A dead vendor with many small tasks must not fill the memory. */
const MAX_KNOWN = 10_000

/** Tells the log that a vendor did not answer, and which tasks had to wait: one line per minute. The vendor may have recovered within it. */
export type SilenceWarnings = {
  note(certificateId: number, reason: Reason, taskIds: Iterable<number>): void
  /** Writes what was noted since the last line. */
  end(): void
}

type Gathered = {
  tasks: Set<number>
  /** Tasks beyond those; one that was noted several times counts as several. */
  others: number
  certificates: Set<number>
  reason: Reason
}

/** The first line is written at once; what is noted in the minute after it is in the next one. `schedule` is replaced by specs. */
export function createSilenceWarnings(
  warn: (fields: object, message: string) => void,
  schedule: (work: () => void, ms: number) => void = (work, ms) => void setTimeout(work, ms).unref(),
): SilenceWarnings {
  let isMinute = false
  let gathered: Gathered | undefined

  function write(): void {
    if (!gathered) return
    const { tasks, others, certificates, reason } = gathered
    gathered = undefined
    warn(
      {
        reason,
        tasks: [...tasks].slice(0, MAX_TASKS),
        taskCount: tasks.size + others,
        certificateCount: certificates.size,
      },
      'the vendor did not answer; these tasks had to wait for it',
    )
    isMinute = true
    schedule(() => {
      isMinute = false
      write()
    }, WARNING_MS)
  }

  return {
    note(certificateId, reason, taskIds) {
      gathered ??= { tasks: new Set(), others: 0, certificates: new Set(), reason }
      gathered.reason = reason
      gathered.certificates.add(certificateId)
      for (const id of taskIds) {
        if (gathered.tasks.size < MAX_KNOWN) gathered.tasks.add(id)
        else if (!gathered.tasks.has(id)) gathered.others++
      }
      if (!isMinute) write()
    },
    end: write,
  }
}
