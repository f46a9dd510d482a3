import type { IncomingMessage, ServerResponse } from 'node:http'
import { DeviceGone } from '@herald/db/devices'
import { CommitInDoubt, codeOf, isUnreachable } from '@herald/db/store'
import { AcceptInDoubt } from '@herald/db/tasks'
import { AcceptorFull } from '@herald/plan'
import type { Logger } from '@herald/telemetry'
import { Failure } from '../codes.ts'
import { BodyBudgetFull } from './body-budget.ts'
import { requestIdIn } from './common-headers.ts'
import { sendFailure } from './envelope.ts'

/** Every error ends here: an envelope for the caller, and a log line if the operator has to act. */
export function answerFailure(
  log: Logger,
  error: unknown,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { failure, unexpected } = failureOfError(error)
  const about = { err: error, requestId: requestIdIn(response), path }
  if (unexpected) log.error(about, 'request failed with an unexpected error')
  else if (failure.code === 50301 && !(error instanceof BodyBudgetFull)) log.warn(about, failure.message)
  if (response.headersSent) {
    // The answer is incomplete, and the caller must notice.
    response.destroy()
    return
  }
  // Otherwise the rest of the body would have to be read before the connection could be used again.
  if (!request.complete) response.setHeader('connection', 'close')
  sendFailure(response, failure)
}

type Answer = { failure: Failure; unexpected: boolean }

/** Maps a thrown error to the failure to send. Unexpected errors are reported without details. */
export function failureOfError(error: unknown): Answer {
  if (error instanceof Failure) return { failure: error, unexpected: false }
  if (error instanceof CommitInDoubt)
    return unexpected(
      'The database connection was lost while this was being written, so it may have been done; check the current state before you repeat the call.',
    )
  if (isUnreachable(error))
    return expected(50301, 'The database is unreachable, so no push was accepted; repeat the call.', {
      retryAfter: 2,
    })
  if (error instanceof AcceptorFull)
    return expected(50301, 'Too many pushes wait to be written; this one was not accepted.', {
      retryAfter: 2,
    })
  // Thrown by Express for a path with a broken escape.
  if (error instanceof URIError) return expected(40401, 'The path cannot be decoded.')
  const code = error instanceof Error ? codeOf(error) : undefined
  // A foreign key failed: the row was removed between the check and the write.
  if (code === '23503' || error instanceof DeviceGone)
    return expected(40401, 'A resource that the call refers to was removed during the call.')
  // Longer than an entry of an index may be.
  if (code === '54000') return expected(40002, 'A value is too long to be stored.')
  if (error instanceof AcceptInDoubt)
    return unexpected(
      'The database connection was lost while the push was being written, so it may have been accepted; repeat it with the same request_id.',
    )
  return unexpected('An internal error occurred.')
}

function expected(...parts: ConstructorParameters<typeof Failure>): Answer {
  return { failure: new Failure(...parts), unexpected: false }
}

function unexpected(message: string): Answer {
  return { failure: new Failure(50001, message), unexpected: true }
}
