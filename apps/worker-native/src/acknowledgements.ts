import { type Acknowledgement, acknowledge } from '@herald/db/native'
import type { Database } from '@herald/db/store'
import { createGatherer } from './gather.ts'

export type Acknowledgements = {
  record(acknowledgement: Acknowledgement): void
  flushed(): Promise<void>
}

/** While Postgres is away this many are kept; devices repeat what is lost beyond it when the message comes again. */
const MOST_KEPT = 200_000

/** Writes acknowledgements down in groups, because one by one the counters would be the limit. */
export function recordAcknowledgements(deps: {
  db: Database
  /** So many were new. */
  onReceived(count: number): void
  onTrouble(error: unknown): void
  giveUp(): boolean
}): Acknowledgements {
  let kept = 0
  const gatherer = createGatherer<Acknowledgement>({
    ms: 50,
    most: 1000,
    async take(receipts) {
      for (let written = false; !written && !deps.giveUp(); ) {
        try {
          deps.onReceived(await acknowledge(deps.db, receipts))
          written = true
        } catch (error) {
          deps.onTrouble(error)
          await new Promise((resolve) => setTimeout(resolve, 500))
        }
      }
      kept -= receipts.length
    },
  })
  return {
    record(acknowledgement) {
      if (kept >= MOST_KEPT) return
      kept++
      gatherer.add(acknowledgement)
    },
    flushed: gatherer.flushed,
  }
}
