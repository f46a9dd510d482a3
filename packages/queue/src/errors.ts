/** The queue could not be asked in time. What was being added may or may not be stored. */
export class QueueUnavailable extends Error {
  override readonly name = 'QueueUnavailable'
}

/** The address in QUEUE_URL cannot be used. The sentence never repeats a password. */
export class QueueUrlError extends Error {
  override readonly name = 'QueueUrlError'
}

/** A job's payload has a shape that this version does not know. */
export class InvalidJob extends Error {
  override readonly name = 'InvalidJob'
}

export function reasonOf(error: unknown): string {
  if (!Error.isError(error)) return String(error)
  // Node reports a refused connection to several addresses as one error without a message.
  if ('errors' in error && Array.isArray(error.errors) && !error.message) {
    return error.errors.map(reasonOf).join(', ')
  }
  // What ioredis says when it is not connected and may not wait.
  if (error.message.startsWith("Stream isn't writeable")) return 'there is no connection'
  return error.message || error.name
}
