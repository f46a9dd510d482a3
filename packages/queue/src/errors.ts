import { within } from '@herald/async'

/** The queue did not answer in time, or refused. A job that was being added may or may not be stored. */
export class QueueUnavailable extends Error {
  override readonly name = 'QueueUnavailable'
}

/** QUEUE_URL cannot be used. The message never contains a password. */
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
  // ioredis says this when it is disconnected and its offline queue is off.
  if (error.message.startsWith("Stream isn't writeable")) return 'there is no connection'
  return error.message || error.name
}

export function asUnavailable(error: unknown, problem: string): QueueUnavailable {
  if (error instanceof QueueUnavailable) return error
  return new QueueUnavailable(`${problem}: ${reasonOf(error)}`, { cause: error })
}

/** Resolves like `answer`; throws QueueUnavailable when it fails or takes longer than `limitMs`. */
export async function answerWithin<T>(limitMs: number, label: string, answer: Promise<T>): Promise<T> {
  try {
    return await within(answer, limitMs, () => {
      throw new QueueUnavailable(`${label} did not answer within ${limitMs} ms`)
    })
  } catch (error) {
    throw asUnavailable(error, `${label} cannot be asked`)
  }
}
