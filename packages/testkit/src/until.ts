// Not @herald/async, whose sleep stands still under a spec's fake timers.
import { setTimeout as sleep } from 'node:timers/promises'
import { waitSeconds } from './spec-limit.ts'

const MIN_PAUSE_MS = 20
const MAX_PAUSE_MS = 250
/** A pause is this part of the time waited before, so that a long wait takes little CPU time from what it waits for. */
const PAUSE_PART = 1 / 8

/**
 * Waits until `condition` returns a value other than false, undefined or null, and returns it. An error counts as "not yet";
 * the last one is the cause of the timeout error. Without `everyMs` the pauses between two calls grow.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  {
    what = 'the condition',
    seconds = waitSeconds,
    everyMs,
  }: { what?: string; seconds?: number; everyMs?: number } = {},
): Promise<Exclude<T, false | undefined | null>> {
  const start = Date.now()
  const pauseMs = () =>
    everyMs ?? Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, (Date.now() - start) * PAUSE_PART))
  for (let problem: unknown; ; await sleep(pauseMs())) {
    try {
      const value = await condition()
      if (value !== false && value !== undefined && value !== null)
        return value as Exclude<T, false | undefined | null>
    } catch (error) {
      problem = error
    }
    if (Date.now() > start + seconds * 1000)
      throw new Error(`Timed out after ${seconds} s waiting for ${what}.`, { cause: problem })
  }
}
