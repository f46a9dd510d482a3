import { sleep } from '@herald/async'
import type { Caller } from './caller.ts'
import { aliasOf, guidOf, type Population } from './population.ts'
import { pick, type Random } from './random.ts'

export type Erasing = {
  /** Numbers of the devices whose erasure was asked for. */
  erased: ReadonlySet<number>
  /** Erases no more; resolves when all calls are answered. */
  end(): Promise<void>
}

const PAUSE_MS = 500
const MAX_IN_FLIGHT = 8

/** Erases a device, by its alias or its guid in turn, about every half second. The caller repeats calls whose response was lost. */
export function startErasing(options: {
  caller: Caller
  population: Population
  random: Random
  onBroken(sentence: string): void
}): Erasing {
  const { caller, population, random, onBroken } = options
  const erased = new Set<number>()
  const ending = new AbortController()

  async function eraseOne(): Promise<void> {
    const n = pick(random, population.numbers)
    if (erased.has(n)) return
    const body = erased.size % 2 === 0 ? { alias: aliasOf(n) } : { device_guid: guidOf(n) }
    erased.add(n)
    const { devices } = await caller.call('/admin/erase', body)
    // 0 if an earlier attempt was carried out and its response lost.
    if (devices !== 1 && devices !== 0) onBroken(`erasing device number ${n} removed ${devices} devices`)
  }

  const inFlight = new Set<Promise<void>>()
  const erasing = (async () => {
    while (!ending.signal.aborted) {
      if (inFlight.size < MAX_IN_FLIGHT) {
        const call = eraseOne().catch((error: Error) => onBroken(error.message))
        inFlight.add(call)
        void call.finally(() => inFlight.delete(call))
      }
      await sleep(PAUSE_MS, ending.signal)
    }
    await Promise.all(inFlight)
  })()
  return {
    erased,
    async end() {
      ending.abort()
      await erasing
    },
  }
}
