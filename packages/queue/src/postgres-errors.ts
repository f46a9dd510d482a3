/**
 * SQLSTATE classes that pass: connection, deadlock or serialization, resources, operator intervention (restart), and
 * a server that is read-only because it is being replaced.
 */
const passing = /^(08|40|53|57)|^25006$/

/** True for what may succeed when asked again: the server's own word, or no word from it at all. */
export function isTransient(error: unknown): boolean {
  if (!Error.isError(error)) return false
  // Only errors that the server sent carry a severity; what BullMQ or this code found wrong has a name of its own.
  if ('severity' in error) return 'code' in error && passing.test(String(error.code))
  return error.name === 'Error' || error.name === 'AggregateError'
}

/** Gives a transient error the one code that BullMQ takes for a lost connection; leaves others as they are. */
export function asConnectionError(error: unknown): unknown {
  if (!isTransient(error)) return error
  return Object.assign(new Error((error as Error).message, { cause: error }), { code: 'ECONNREFUSED' })
}
