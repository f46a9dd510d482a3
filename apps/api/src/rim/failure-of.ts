import { AcceptInDoubt, codeOf, isUnreachable } from '@herald/db'
import { AcceptorFull } from '@herald/plan'
import { Failure } from '../codes.ts'

/** Whatever a handler throws, as the answer it deserves. What nobody foresaw says nothing of itself. */
export function failureOfError(error: unknown): { failure: Failure; unexpected: boolean } {
  if (error instanceof Failure) return { failure: error, unexpected: false }
  if (isUnreachable(error))
    return {
      failure: new Failure(50301, 'The database is unreachable; nothing was accepted.', { retryAfter: 2 }),
      unexpected: false,
    }
  if (error instanceof AcceptorFull)
    return {
      failure: new Failure(50301, 'Too many pushes wait to be written; this one was not accepted.', {
        retryAfter: 2,
      }),
      unexpected: false,
    }
  if (error instanceof AcceptInDoubt)
    return {
      failure: new Failure(
        50001,
        'The database was lost while the push was being written, so it may have been accepted. Repeat it with the same request_id.',
      ),
      unexpected: true,
    }
  // Express, of a path with a broken escape.
  if (error instanceof URIError)
    return {
      failure: new Failure(40401, 'There is nothing at a path that cannot be decoded.'),
      unexpected: false,
    }
  // A foreign key: removed between the look and the write.
  if (error instanceof Error && codeOf(error) === '23503')
    return {
      failure: new Failure(40401, 'Something that the call names was removed meanwhile.'),
      unexpected: false,
    }
  return { failure: new Failure(50001, 'An internal error occurred.'), unexpected: true }
}
