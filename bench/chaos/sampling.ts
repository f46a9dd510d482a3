import { setTimeout as sleep } from 'node:timers/promises'
import { findImbalances } from '@herald/db/readings'
import type { Database } from '@herald/db/store'

export type Sampling = { count(): number; stop(): Promise<void> }

/** Looks at the balance of every task and channel now and then, whatever else happens; tells what is out of it. */
export function startSampling(db: Database, everyMs: number, wrong: string[]): Sampling {
  const over = new AbortController()
  let samples = 0
  const running = (async () => {
    while (!over.signal.aborted) {
      try {
        for (const row of (await findImbalances(db)).slice(0, 5))
          wrong.push(`out of balance: ${JSON.stringify(row)}`)
        samples++
      } catch {
        // Postgres is being killed or restarted.
      }
      await sleep(everyMs, undefined, { signal: over.signal }).catch(() => {})
    }
  })()
  return {
    count: () => samples,
    async stop() {
      over.abort()
      await running
    },
  }
}
