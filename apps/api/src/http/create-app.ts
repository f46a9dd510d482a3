import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { shareReads } from '@herald/async'
import { handleHealth, requestIdOf } from '@herald/telemetry'
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
import { admit, serveRoute } from './serve-route.ts'

export type AppOptions = {
  /** The folder of the built console. */
  consoleFolder?: string
}

const builtConsole = fileURLToPath(new URL('../../../console/dist', import.meta.url))
const METRICS_MS = 1000
const served = [...routes, ...consoleRoutes]

/** The HTTP interface as an Express application. Only this file and Bull Board use Express. */
export function createApp(deps: ApiDeps, options: AppOptions = {}): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('case sensitive routing', true)
  app.set('strict routing', true)
  app.set('query parser', false)
  app.use(measure(deps))
  // The console is served from here too, and may be used without TLS inside a network.
  app.use(helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } }))

  for (const path of ['/healthz', '/readyz'])
    app.get(path, async (request, response) => {
      await handleHealth(deps, request, response)
    })
  // Needs no token, and rendering takes milliseconds of CPU.
  const metrics = shareReads({ read: () => deps.registry.metrics(), maxAgeMs: METRICS_MS })
  app.get('/metrics', async (_request, response) => {
    const text = await metrics.get('')
    response.writeHead(200, { 'content-type': deps.registry.contentType }).end(text)
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
    await serveCallback(deps, request.params, request, response)
  })

  for (const route of served)
    app[route.method](route.path, (request, response) => serveRoute(deps, route, request, response))
  for (const [path, methods] of methodsByPath(served))
    app.all(path, (_request, response) => {
      response.setHeader('allow', methods)
      throw new Failure(40501, `This path supports only ${methods}.`)
    })

  const pages = createConsolePages(openSite(options.consoleFolder ?? builtConsole))
  app.use('/console', async (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      throw new Failure(40501, 'The pages of the console support only GET and HEAD.')
    }
    const [path = ''] = request.originalUrl.split('?')
    if (path === '/console') response.redirect(308, '/console/')
    else await pages(request, response, path)
  })
  app.get('/', (_request, response) => response.redirect('/console/'))
  app.use(
    '/queues',
    createQueueBoard(deps, (request, response) =>
      admit(deps, { access: 'operator', reads: true }, request, response),
    ),
  )

  app.use((request: IncomingMessage) => {
    throw new Failure(40401, `The path ${(request.url ?? '').split('?')[0]?.slice(0, 200)} does not exist.`)
  })
  // Express knows an error handler by its four parameters.
  app.use((error: unknown, request: IncomingMessage, response: ServerResponse, _next: unknown) => {
    answerFailure(deps.log, error, labelOf(request), request, response)
  })
  return app
}

/** Built at the first request and kept: building takes 50 ms of CPU, and anonymous callers may ask. */
function kept(make: () => string): () => string {
  let made: string | undefined
  return () => (made ??= make())
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

/** The path for logs and metrics: callers must not be able to create labels, and the key of a callback is secret. */
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
