import type { NextFunction, Request, Response } from 'express'
import { Failure, statusOf } from '../codes.ts'
import type { ApiDeps } from '../deps.ts'
import { sentencePage } from './pages.ts'
import type { createQueueBoard } from './queue-board.ts'

/**
 * Bull Board for the operator, read-only: changes to a job would be undone from the rows in Postgres, and emptying or
 * cleaning a large queue is a single command that blocks Redis for every process. `admit` throws unless the operator calls.
 * The board is loaded at the first call: most processes never show it.
 */
export function serveQueueBoard(
  deps: Pick<ApiDeps, 'db' | 'queues'>,
  admit: (request: Request, response: Response) => Promise<unknown>,
) {
  let board: Promise<ReturnType<typeof createQueueBoard>> | undefined
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    try {
      await admit(request, response)
    } catch (error) {
      if (!sendSentence(request, response, error)) throw error
      return
    }
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new Failure(40301, 'The queues are read-only here: jobs are made from the batches in Postgres.')
    board ??= import('./queue-board.ts').then((loaded) => loaded.createQueueBoard(deps))
    await (await board)(request, response, next)
  }
}

/** Sends a page to a browser; programs get the envelope. */
function sendSentence(request: Request, response: Response, error: unknown): boolean {
  if (!(error instanceof Failure) || !String(request.headers.accept ?? '').includes('text/html')) return false
  const sentence =
    error.code === 40101 ? 'Sign in to the console with the operator key, then come back.' : error.message
  if (error.retryAfter !== undefined) response.setHeader('retry-after', String(error.retryAfter))
  response.status(statusOf(error.code)).type('html').send(sentencePage('Queues', sentence))
  return true
}
