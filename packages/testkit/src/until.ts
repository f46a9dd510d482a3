// Not @herald/async, whose sleep stands still under a spec's fake timers.
import { setTimeout as sleep } from 'node:timers/promises'
import { waitSeconds } from './spec-limit.ts'

/**
 * Waits until `condition` returns a value other than false, undefined or null, and returns it. An error counts as "not yet";
 * the last one is the cause of the timeout error.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { what = 'the condition', seconds = waitSeconds, everyMs = 20 } = {},
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
    if (Date.now() > end)
      throw new Error(`Timed out after ${seconds} s waiting for ${what}.`, { cause: problem })
  }
}
