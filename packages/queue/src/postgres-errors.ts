import { isTransient as isTransientOfServer } from '@herald/postgres'

/** Returns whether a repetition may succeed: the server said so, or did not answer at all. */
export function isTransient(error: unknown): boolean {
  if (!Error.isError(error)) return false
  // Only errors sent by the server have a severity; errors of BullMQ and of this code have their own class.
  if ('severity' in error) return isTransientOfServer(error)
  return error.name === 'Error' || error.name === 'AggregateError'
}

/** Gives a transient error the code that BullMQ treats as a lost connection. */
export function asConnectionError(error: unknown): unknown {
  if (!isTransient(error)) return error
  return Object.assign(new Error((error as Error).message, { cause: error }), { code: 'ECONNREFUSED' })
}
