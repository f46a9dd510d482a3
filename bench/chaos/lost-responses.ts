import { sleep } from '@herald/async'
import type { Processes } from './processes.ts'

export type LostResponses = {
  /** Recipients so far whose vendor response was lost: timeout, reset, closed connection. */
  count(): number
  stop(): Promise<void>
}

/** Reads the workers' metrics about once per second. The counters of a restarted process begin at 0 again. */
export function watchLostResponses(processes: Processes): LostResponses {
  const latest = new Map<string, { pid: number; lost: number }>()
  const ending = new AbortController()
  let beforeRestarts = 0

  async function read(name: string, url: string): Promise<void> {
    const pid = processes.byName.get(name)!.pid()
    const text = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(5000) }).then(
      (response) => response.text(),
      () => undefined,
    )
    if (text === undefined) return
    const before = latest.get(name)
    if (before && before.pid !== pid) beforeRestarts += before.lost
    latest.set(name, { pid, lost: countLost(text) })
  }
  const running = (async () => {
    while (!ending.signal.aborted) {
      await Promise.all([...processes.metrics].map(([name, url]) => read(name, url)))
      await sleep(1000, ending.signal)
    }
  })()
  return {
    count: () => [...latest.values()].reduce((sum, { lost }) => sum + lost, beforeRestarts),
    async stop() {
      ending.abort()
      await running
    },
  }
}

/** Not `none`: a call that failed because Postgres refuses writes never reached the vendor, so it explains no duplicate. */
const ownCode = /code="(network|timeout)"/

/** Counts the `unavailable` outcomes without a vendor's response in the metrics of a worker. */
export function countLost(text: string): number {
  let lost = 0
  for (const [, labels = '', value] of text.matchAll(/^herald_outcomes_total\{([^}]*)\} (\d+)/gm))
    if (labels.includes('outcome="unavailable"') && ownCode.test(labels)) lost += Number(value)
  return lost
}
