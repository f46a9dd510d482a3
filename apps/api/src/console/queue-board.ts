import { randomBytes } from 'node:crypto'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { ExpressAdapter } from '@bull-board/express'
import { gatewayNodes } from '@herald/db/native'
import { vendorChannels } from '@herald/domain'
import { nativeQueue, pushQueue, type QueueName } from '@herald/queue'
import type { NextFunction, Request, Response } from 'express'
import { Failure, statusOf } from '../codes.ts'
import type { ApiDeps } from '../deps.ts'
import { failureOfError } from '../rim/failure-of.ts'
import { admit } from '../rim/gate.ts'
import { gateHeaders } from '../rim/serve-route.ts'
import { wordsPage } from './words-page.ts'

const PATH = '/queues'
const NODES_MS = 1_000

type BoardDeps = Pick<ApiDeps, 'db' | 'queues' | 'sessions' | 'consoleSessions' | 'operatorKey' | 'publicUrl'>

/**
 * Bull Board for the operator. It shows and changes nothing: whatever it could do to a job the rows undo, and emptying or
 * cleaning a large queue is one call that stops Redis for everybody.
 */
export function createQueueBoard(deps: BoardDeps) {
  const server = new ExpressAdapter().setBasePath(PATH)
  const board = createBullBoard({
    queues: [],
    // Its types come from a copy of their own package, one release older.
    serverAdapter: server as never,
    options: {
      uiConfig: {
        boardTitle: 'Herald',
        // Would ask Redis for the list of all its clients, for every queue and at every look.
        showWorkers: false,
        hideDocsLink: true,
        miscLinks: [{ text: 'Console', url: '/console/' }],
      },
    },
  })
  const router = server.getRouter()
  const shown = new Map<QueueName, BullMQAdapter>()
  let nodesAt = Number.NEGATIVE_INFINITY
  let showing: Promise<void> | undefined

  /** The queues of the channels, and of the gateways that live; they are known by name, none is searched for. */
  async function showQueues(): Promise<void> {
    const nodes = await gatewayNodes(deps.db)
    const names = [...vendorChannels.map(pushQueue), ...nodes.map(nativeQueue)]
    for (const name of shown.keys()) {
      if (names.includes(name)) continue
      shown.delete(name)
      await deps.queues.forget(name)
    }
    for (const name of names) {
      if (shown.has(name)) continue
      const [queue] = deps.queues.bullQueues([name])
      shown.set(name, new BullMQAdapter(queue as never, { readOnlyMode: true, allowRetries: false }))
    }
    board.replaceQueues([...shown.values()])
    nodesAt = performance.now()
  }

  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    try {
      await admit(deps, { access: 'operator', reads: true }, gateHeaders(request))
    } catch (error) {
      if (!sendWords(request, response, error)) throw error
      return
    }
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new Failure(
        40301,
        'The queues are shown here, not changed: jobs are made from the batches in Postgres.',
      )
    // Jobs here have no parents; looking for them would open a connection that nobody closes.
    if (/^\/api\/queues\/[^/]+\/[^/]+\/flow(\?|$)/.test(request.url)) {
      response.json({ nodeId: '', flowRoot: null, isFlowNode: false })
      return
    }
    if (performance.now() - nodesAt > NODES_MS) {
      showing ??= showQueues().finally(() => {
        showing = undefined
      })
      await showing
    }
    dress(response)
    router(request, response, next)
  }
}

/** For whoever opened the address in a browser; programs get the envelope. */
function sendWords(request: Request, response: Response, error: unknown): boolean {
  const { failure } = failureOfError(error)
  if (!(error instanceof Failure) || !String(request.headers.accept ?? '').includes('text/html')) return false
  const sentence =
    failure.code === 40101 ? 'Sign in to the console with the operator key, then come back.' : failure.message
  response.status(statusOf(failure.code)).type('html').send(wordsPage('Queues', sentence))
  return true
}

/** Bull Board's page, fit for a strict policy: nothing from other hosts, its one style under a nonce. */
function dress(response: Response): void {
  const nonce = randomBytes(16).toString('base64')
  response.setHeader('content-security-policy', boardPolicy(nonce))
  const send = response.send.bind(response)
  response.send = (body) => {
    if (typeof body !== 'string' || !/^<!doctype html>/i.test(body)) return send(body)
    response.setHeader('cache-control', 'no-store')
    return send(
      body
        .replaceAll(/<link [^>]*href="https?:[^>]*>/g, '')
        .replaceAll('<style>', `<style nonce="${nonce}">`),
    )
  }
}

function boardPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    // The hash is of the colours of its icon of the datastore, which it adds by itself.
    `style-src 'self' 'nonce-${nonce}' 'sha256-r2N1TB/gHbBtBZFKg7ejmq1acVSREzucTAEw6ga4hoU='`,
    // Its parts are placed by style attributes.
    "style-src-attr 'unsafe-inline'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'self'",
    "form-action 'none'",
  ].join('; ')
}
