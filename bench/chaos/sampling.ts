import { sleep } from '@herald/async'
import { findImbalances } from '@herald/db/readings'
import type { Database } from '@herald/db/store'

export type Sampling = { count(): number; stop(): Promise<void> }

/** Checks the balance of all counters every `everyMs`; adds a sentence to `wrong` for each that is out of balance. */
export function startSampling(db: Database, everyMs: number, wrong: string[]): Sampling {
  const ending = new AbortController()
  let samples = 0
  const running = (async () => {
    while (!ending.signal.aborted) {
      try {
        for (const row of (await findImbalances(db)).slice(0, 5))
          wrong.push(`out of balance: ${JSON.stringify(row)}`)
        samples++
      } catch {
        // Postgres is being killed or restarted.
      }
      await sleep(everyMs, ending.signal)
    }
  })()
  return {
    count: () => samples,
    async stop() {
      ending.abort()
      await running
    },
  }
}
