import { codeOf, isUnreachable } from '@herald/db/store'
import { AcceptInDoubt } from '@herald/db/tasks'
import { AcceptorFull } from '@herald/plan'
import { Failure } from '../codes.ts'

type Answer = { failure: Failure; unexpected: boolean }

/** Whatever a handler throws, as the answer it deserves. What nobody foresaw says nothing of itself. */
export function failureOfError(error: unknown): Answer {
  if (error instanceof Failure) return { failure: error, unexpected: false }
  if (isUnreachable(error))
    return foreseen(50301, 'The database is unreachable; nothing was accepted.', { retryAfter: 2 })
  if (error instanceof AcceptorFull)
    return foreseen(50301, 'Too many pushes wait to be written; this one was not accepted.', {
      retryAfter: 2,
    })
  // Express, of a path with a broken escape.
  if (error instanceof URIError) return foreseen(40401, 'There is nothing at a path that cannot be decoded.')
  // A foreign key: removed between the look and the write.
  if (error instanceof Error && codeOf(error) === '23503')
    return foreseen(40401, 'Something that the call names was removed meanwhile.')
  if (error instanceof AcceptInDoubt)
    return unexpected(
      'The database was lost while the push was being written, so it may have been accepted. Repeat it with the same request_id.',
    )
  return unexpected('An internal error occurred.')
}

function foreseen(...parts: ConstructorParameters<typeof Failure>): Answer {
  return { failure: new Failure(...parts), unexpected: false }
}

function unexpected(message: string): Answer {
  return { failure: new Failure(50001, message), unexpected: true }
}
