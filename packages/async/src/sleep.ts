import { setTimeout } from 'node:timers/promises'

/** Resolves after `ms`, or as soon as `signal` fires; never rejects. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {})
}
