import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from '@herald/telemetry'
import { sendFailure } from './envelope.ts'
import { failureOfError } from './failure-of.ts'

/** Where every error ends: an envelope for the caller, and a line in the log for whoever has to look after it. */
export function answerFailure(
  log: Logger,
  error: unknown,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { failure, unexpected } = failureOfError(error)
  const about = { err: error, requestId: response.getHeader('x-request-id'), path }
  if (unexpected) log.error(about, 'a call failed unexpectedly')
  else if (failure.code === 50301) log.warn(about, failure.message)
  if (response.headersSent) {
    // An answer that broke off must not look whole.
    response.destroy()
    return
  }
  // What is left of a body would have to be read to its end before the connection could be used again.
  if (!request.complete) response.setHeader('connection', 'close')
  sendFailure(response, failure)
}
