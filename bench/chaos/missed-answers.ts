import { setTimeout as sleep } from 'node:timers/promises'
import type { Cast } from './cast.ts'

export type MissedAnswers = {
  /** Recipients so far whose vendor gave no answer that was heard: time limit, reset, connection lost. */
  count(): number
  stop(): Promise<void>
}

/** Reads the workers' own metrics about once a second; a process that starts anew begins to count anew. */
export function watchMissedAnswers(cast: Cast): MissedAnswers {
  const latest = new Map<string, { pid: number; missed: number }>()
  let ofThePast = 0
  let over = false

  async function read(name: string, url: string): Promise<void> {
    const pid = cast.byName.get(name)!.pid()
    const text = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(5000) }).then(
      (answer) => answer.text(),
      () => undefined,
    )
    if (text === undefined) return
    const before = latest.get(name)
    if (before && before.pid !== pid) ofThePast += before.missed
    latest.set(name, { pid, missed: missedIn(text) })
  }
  const readAll = () => Promise.all([...cast.metrics].map(([name, url]) => read(name, url)))
  const running = (async () => {
    while (!over) {
      await readAll()
      for (let n = 0; n < 10 && !over; n++) await sleep(100)
    }
  })()
  return {
    count: () => [...latest.values()].reduce((sum, { missed }) => sum + missed, ofThePast),
    async stop() {
      over = true
      await running
    },
  }
}

/** Words of our own for "nobody answered", where a vendor's answer has a code: `none`, `network`, `timeout`, `closed`. */
const ownWord = /code="[a-z]+"/

/** Outcomes that carry no code of the vendor. Pure. */
export function missedIn(text: string): number {
  let missed = 0
  for (const [, labels = '', value] of text.matchAll(/^herald_outcomes_total\{([^}]*)\} (\d+)/gm))
    if (labels.includes('outcome="unavailable"') && ownWord.test(labels)) missed += Number(value)
  return missed
}
