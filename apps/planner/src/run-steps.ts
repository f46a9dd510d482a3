import { isTransient } from '@herald/db/store'
import type { OnLoopError } from '@herald/program'

/**
 * Runs all steps of a round, also after one has failed: a lasting error of one must not stop the others for good. Throws the first error
 * at the end; the others are only reported.
 */
export async function runSteps<T>(
  steps: readonly (() => Promise<T>)[],
  loop: string,
  onLoopError: OnLoopError,
): Promise<T[]> {
  const results: T[] = []
  const errors: unknown[] = []
  for (const step of steps) {
    try {
      results.push(await step())
    } catch (error) {
      errors.push(error)
    }
  }
  for (const error of errors.slice(1)) onLoopError(error, isTransient(error), loop)
  if (errors.length > 0) throw errors[0]
  return results
}
