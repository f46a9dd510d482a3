import { randomBytes } from 'node:crypto'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { ExpressAdapter } from '@bull-board/express'
import { shareReads } from '@herald/async'
import { gatewayNodes } from '@herald/db/native'
import { vendorChannels } from '@herald/domain'
import { nativeQueue, pushQueues, type QueueName } from '@herald/queue'
import type { NextFunction, Request, Response } from 'express'
import type { ApiDeps } from '../deps.ts'
import { LABELS_PATH, labelScript, labelStyle } from './queue-board-labels.ts'

const PATH = '/queues'
const NODES_MS = 1_000

/** Bull Board without admission; `serve-queue-board.ts` has that. */
export function createQueueBoard(deps: Pick<ApiDeps, 'db' | 'queues'>) {
  const server = new ExpressAdapter().setBasePath(PATH)
  const board = createBullBoard({
    queues: [],
    // Its types come from another copy of the package, one release older.
    serverAdapter: server as never,
    options: {
      uiConfig: {
        boardTitle: 'Herald',
        // Would list all Redis clients, per queue and per request.
        showWorkers: false,
        hideDocsLink: true,
        miscLinks: [{ text: 'Console', url: '/console/' }],
      },
    },
  })
  const router = server.getRouter()
  const shown = new Map<QueueName, BullMQAdapter>()

  /** Shows the queues of the channels and of the live gateways. Their names are known; Redis is not searched. */
  async function showQueues(): Promise<void> {
    const nodes = await gatewayNodes(deps.db)
    const gateways = new Map(nodes.map((node) => [nativeQueue(node), `Gateway ${node}`]))
    const names = [...vendorChannels.flatMap(pushQueues), ...gateways.keys()]
    for (const name of shown.keys()) {
      if (names.includes(name)) continue
      shown.delete(name)
      await deps.queues.forget(name)
    }
    for (const name of names) {
      if (shown.has(name)) continue
      const [queue] = deps.queues.bullQueues([name])
      shown.set(
        name,
        new BullMQAdapter(queue as never, {
          readOnlyMode: true,
          allowRetries: false,
          displayName: gateways.get(name),
        }),
      )
    }
    board.replaceQueues([...shown.values()])
  }
  const queues = shareReads({ read: showQueues, maxAgeMs: () => NODES_MS })

  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    // Jobs here have no parents; looking for them would open a connection that is never closed.
    if (/^\/api\/queues\/[^/]+\/[^/]+\/flow(\?|$)/.test(request.url)) {
      response.json({ nodeId: '', flowRoot: null, isFlowNode: false })
      return
    }
    if (request.url === LABELS_PATH) {
      response.type('js').send(labelScript)
      return
    }
    await queues.get('')
    applyPolicy(response)
    router(request, response, next)
  }
}

/** Makes Bull Board's page work under a strict policy: removes links to other hosts, adds a nonce to its style. Adds the labels. */
function applyPolicy(response: Response): void {
  const nonce = randomBytes(16).toString('base64')
  response.setHeader('content-security-policy', boardPolicy(nonce))
  const send = response.send.bind(response)
  response.send = (body) => {
    if (typeof body !== 'string' || !/^<!doctype html>/i.test(body)) return send(body)
    response.setHeader('cache-control', 'no-store')
    return send(
      body
        .replaceAll(/<link [^>]*href="https?:[^>]*>/g, '')
        .replaceAll('<style>', `<style nonce="${nonce}">`)
        .replace('</head>', `<style nonce="${nonce}">${labelStyle}</style></head>`)
        .replace('</body>', `<script defer src="${PATH}${LABELS_PATH}"></script></body>`),
    )
  }
}

function boardPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    // The hash is of a style that its script adds (colours of the datastore's icon). An update of Bull Board may change it;
    // console-queues.spec.ts fails then.
    `style-src 'self' 'nonce-${nonce}' 'sha256-r2N1TB/gHbBtBZFKg7ejmq1acVSREzucTAEw6ga4hoU='`,
    // Its layout uses style attributes.
    "style-src-attr 'unsafe-inline'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'self'",
    "form-action 'none'",
  ].join('; ')
}
