import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits until `condition` answers something other than false, undefined or null, and answers it. What it throws counts as
 * "not yet" and is shown when the time is over.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { what = 'the condition', seconds = 15, everyMs = 20 } = {},
): Promise<Exclude<T, false | undefined | null>> {
  const end = Date.now() + seconds * 1000
  for (let problem: unknown; ; await sleep(everyMs)) {
    try {
      const value = await condition()
      if (value !== false && value !== undefined && value !== null)
        return value as Exclude<T, false | undefined | null>
    } catch (error) {
      problem = error
    }
    if (Date.now() > end) throw new Error(`Waited ${seconds} s for ${what} in vain.`, { cause: problem })
  }
}
