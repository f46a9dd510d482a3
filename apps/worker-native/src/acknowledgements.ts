import { coalesce } from '@herald/async'
import { type Acknowledgement, acknowledge } from '@herald/db/native'
import type { Database } from '@herald/db/store'
import type { Unrecorded } from './unrecorded.ts'
import { writeUntil } from './write-until.ts'

export type Acknowledgements = {
  /** Removes it from `unrecorded` in the end. `isProven`: this gateway wrote the task to the device. */
  record(acknowledgement: Acknowledgement, isProven: boolean): void
  flushed(): Promise<void>
}

/** Maximum kept while Postgres is down. Devices repeat lost acknowledgements when the message is delivered again. */
const MAX_KEPT = 200_000
const MAX_KEPT_UNPROVEN = 100_000

/**
 * Writes acknowledgements in groups; single writes would be limited by the counters' row locks. Proven and unproven ones are
 * written separately: behind a flood of invented ones the others would be lost, or so late that vendors repeat their pushes.
 */
export function recordAcknowledgements(deps: {
  db: Database
  unrecorded: Unrecorded
  /** `count` acknowledgements were new. */
  onReceived(count: number): void
  onPostgresError(error: unknown): void
  /** Ends the attempts to write. */
  ending: AbortSignal
}): Acknowledgements {
  const proven = createList(MAX_KEPT)
  const unproven = createList(MAX_KEPT_UNPROVEN)

  function createList(max: number) {
    let kept = 0
    const group = coalesce<Acknowledgement>({
      windowMs: 50,
      maxItems: 1000,
      async write(receipts) {
        const write = async () => deps.onReceived(await acknowledge(deps.db, receipts))
        await writeUntil(deps.ending, write, deps.onPostgresError)
        kept -= receipts.length
        for (const { deviceId, taskId } of receipts) deps.unrecorded.remove(deviceId, taskId)
      },
    })
    return {
      record(acknowledgement: Acknowledgement): void {
        if (kept < max) {
          kept++
          void group.add(acknowledgement)
        } else deps.unrecorded.remove(acknowledgement.deviceId, acknowledgement.taskId)
      },
      flushed: group.flushed,
    }
  }

  return {
    record: (acknowledgement, isProven) => (isProven ? proven : unproven).record(acknowledgement),
    flushed: async () => void (await Promise.all([proven.flushed(), unproven.flushed()])),
  }
}
