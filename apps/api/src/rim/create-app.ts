import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { callerAddress } from '@herald/program'
import { answerHealth, requestIdOf } from '@herald/telemetry'
import express, { type Express } from 'express'
import helmet from 'helmet'
import { Failure } from '../codes.ts'
import { createConsolePages } from '../console/pages.ts'
import { createQueueBoard } from '../console/queue-board.ts'
import { consoleRoutes } from '../console/routes.ts'
import { openSite } from '../console/site.ts'
import type { ApiDeps } from '../deps.ts'
import { docsPage } from '../openapi/docs-page.ts'
import { openApiDocument } from '../openapi/document.ts'
import type { Route } from '../route.ts'
import { routes } from '../routes.ts'
import { answerFailure } from './answer-failure.ts'
import { serveCallback } from './serve-callback.ts'
import { serveRoute } from './serve-route.ts'

export type AppOptions = {
  /** Where the built console lies. */
  consoleFolder?: string
}

const builtConsole = fileURLToPath(new URL('../../../console/dist/', import.meta.url))
const served = [...routes, ...consoleRoutes]

/** The HTTP interface as an Express application. Express appears here and in Bull Board only. */
export function createApp(deps: ApiDeps, options: AppOptions = {}): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('case sensitive routing', true)
  app.set('strict routing', true)
  app.set('query parser', false)
  app.use(measure(deps))
  // Consoles share this server, and may be reached without TLS inside a network.
  app.use(helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } }))

  for (const path of ['/healthz', '/readyz', '/metrics'])
    app.get(path, async (request, response) => {
      await answerHealth(deps, request, response)
    })
  const document = kept(() => JSON.stringify(openApiDocument(deps.publicUrl)))
  app.get('/openapi.json', (_request, response) => {
    response.type('json').send(document())
  })
  const page = kept(() => docsPage(openApiDocument(deps.publicUrl)))
  app.get('/docs', (_request, response) => {
    response.type('html').send(page())
  })
  app.post('/callback/:channel/:appId/:key', async (request, response) => {
    await serveCallback(deps.callbacks, request.params, request, response)
  })

  for (const route of served)
    app[route.method](route.path, (request, response) =>
      serveRoute(deps, route, request, response, callerAddress(request, deps.trustedProxies)),
    )
  for (const [path, methods] of methodsByPath(served))
    app.all(path, (_request, response) => {
      response.setHeader('allow', methods)
      throw new Failure(40501, `This path takes ${methods} only.`)
    })

  const pages = createConsolePages(openSite(options.consoleFolder ?? builtConsole))
  app.use('/console', async (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      throw new Failure(40501, 'The pages of the console take GET, HEAD only.')
    }
    const [path = ''] = request.originalUrl.split('?')
    if (path === '/console') response.redirect(308, '/console/')
    else await pages(request, response, path)
  })
  app.get('/', (_request, response) => response.redirect('/console/'))
  app.use('/queues', createQueueBoard(deps))

  app.use((request: IncomingMessage) => {
    throw new Failure(40401, `There is nothing at ${(request.url ?? '').split('?')[0]?.slice(0, 200)}.`)
  })
  // Express knows an error handler by its four parameters.
  app.use((error: unknown, request: IncomingMessage, response: ServerResponse, _next: unknown) => {
    answerFailure(deps.log, error, labelOf(request), request, response)
  })
  return app
}

/** Made at the first look: making one keeps a processor busy for 50 ms, and anybody may ask. */
function kept(make: () => string): () => string {
  let made: string | undefined
  return () => {
    made ??= make()
    return made
  }
}

function methodsByPath(table: readonly Pick<Route, 'path' | 'method'>[]): Map<string, string> {
  const methods = new Map<string, string>([['/callback/:channel/:appId/:key', 'POST']])
  for (const { path, method } of table) {
    const known = methods.get(path)
    methods.set(path, known ? `${known}, ${method.toUpperCase()}` : method.toUpperCase())
  }
  return methods
}

const servedPaths = new Set(served.map(({ path }) => path))

/** A path as logs and metrics name it: callers must not make up labels, and the key of a callback is a secret. */
function labelOf({ url = '' }: IncomingMessage): string {
  const path = url.split('?')[0]!
  return servedPaths.has(path) ? path : path.startsWith('/callback/') ? '/callback' : 'other'
}

function measure(deps: ApiDeps) {
  return (request: IncomingMessage, response: ServerResponse, next: () => void) => {
    const started = performance.now()
    response.setHeader('x-request-id', requestIdOf(request.headers['x-request-id']))
    const label = labelOf(request)
    response.on('finish', () => {
      deps.meters.answered(label, response.statusCode, (performance.now() - started) / 1000)
    })
    next()
  }
}
