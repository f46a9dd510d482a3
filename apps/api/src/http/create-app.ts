import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { shareReads } from '@herald/async'
import { handleHealth } from '@herald/telemetry'
import express, { type Express, type Request } from 'express'
import { Failure } from '../codes.ts'
import { createConsolePages } from '../console/pages.ts'
import { consoleRoutes } from '../console/routes.ts'
import { serveQueueBoard } from '../console/serve-queue-board.ts'
import { openSite } from '../console/site.ts'
import type { ApiDeps } from '../deps.ts'
import { notify } from '../handlers/notify.ts'
import { createDocsPage, docsLanguage } from '../openapi/docs-page.ts'
import { openApiDocument } from '../openapi/document.ts'
import { routes } from '../routes.ts'
import { answerFailure } from './answer-failure.ts'
import { identifyCall, setCommonHeaders } from './common-headers.ts'
import { serveCallback } from './serve-callback.ts'
import { admit, serveRoute } from './serve-route.ts'

export type AppOptions = {
  /** The folder of the built console. */
  consoleFolder?: string
}

const builtConsole = fileURLToPath(new URL('../../../console/dist', import.meta.url))
const METRICS_MS = 1000
const served = [...routes, ...consoleRoutes]

/**
 * The HTTP interface. Express serves it, except the call that arrives thousands of times per second: Express changes the prototypes
 * of request and response and calls five functions before ours, a tenth of the CPU time of a call. Both ways run `measure`,
 * `serveRoute` and `answerFailure`, and a spec compares their responses byte by byte.
 */
export function createApp(deps: ApiDeps, options: AppOptions = {}): RequestListener {
  const app = createExpressApp(deps, options)
  return (request, response) => {
    if (request.url !== notify.path || request.method !== 'POST') return app(request, response)
    measure(deps, request, response)
    serveRoute(deps, notify, request, response).catch((error: unknown) =>
      answerFailure(deps.log, error, notify.path, request, response),
    )
  }
}

/** Only this file and Bull Board use Express. */
function createExpressApp(deps: ApiDeps, options: AppOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('case sensitive routing', true)
  app.set('strict routing', true)
  app.set('query parser', false)
  app.use((request, response, next) => {
    measure(deps, request, response)
    next()
  })
  app.use(serveCalls(deps))
  app.use((_request, response, next) => {
    setCommonHeaders(response)
    next()
  })

  for (const path of ['/healthz', '/readyz'])
    app.get(path, async (request, response, next) => {
      if (!(await handleHealth(deps, request, response))) next()
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
  const page = kept(() => createDocsPage(openApiDocument(deps.publicUrl)))
  app.get('/docs', (request, response) => {
    const [, query = ''] = request.originalUrl.split('?', 2)
    const asked = new URLSearchParams(query)
    const language = docsLanguage(asked.get('lang'), request.headers['accept-language'])
    response.setHeader('vary', 'accept-language')
    response.type('html').send(page()(language, asked.get('q') ?? ''))
  })
  app.post('/callback/:channel/:appId/:key', async (request, response) => {
    await serveCallback(deps, request.params, request, response)
  })

  app.all('/callback/:channel/:appId/:key', (_request, response) => refuseMethod(response, ['POST']))

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
  // After those that handle GET and HEAD.
  for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/'])
    app.all(path, (_request, response) => refuseMethod(response, ['GET', 'HEAD']))
  app.use(
    '/queues',
    serveQueueBoard(deps, (request, response) =>
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
function kept<Made>(make: () => Made): () => Made {
  let made: Made | undefined
  return () => (made ??= make())
}

type ServedRoute = (typeof served)[number]

/** The routes of each path, by method. Their paths have no parameters. */
function byPath(): Map<string, Map<string, ServedRoute>> {
  const paths = new Map<string, Map<string, ServedRoute>>()
  for (const route of served) {
    const methods = paths.get(route.path) ?? new Map<string, ServedRoute>()
    paths.set(route.path, methods.set(route.method.toUpperCase(), route))
  }
  return paths
}

/** Finds the route with one look-up: Express compares the path with each route until one matches. */
function serveCalls(deps: ApiDeps) {
  const paths = byPath()
  return (request: Request, response: ServerResponse, next: () => void): Promise<void> | void => {
    const methods = paths.get(request.path)
    if (!methods) return next()
    const route = methods.get(request.method === 'HEAD' ? 'GET' : request.method)
    if (!route) return refuseMethod(response, [...methods.keys()])
    return serveRoute(deps, route, request, response)
  }
}

function refuseMethod(response: ServerResponse, methods: readonly string[]): never {
  const list = methods.join(', ')
  response.setHeader('allow', list)
  throw new Failure(40501, `This path supports only ${list}.`)
}

const servedPaths = new Set(served.map(({ path }) => path))

/** The path for logs and metrics: callers must not be able to create labels, and the key of a callback is secret. */
function labelOf({ url = '' }: IncomingMessage): string {
  const path = url.split('?')[0]!
  return servedPaths.has(path) ? path : path.startsWith('/callback/') ? '/callback' : 'other'
}

function measure(deps: ApiDeps, request: IncomingMessage, response: ServerResponse): void {
  const started = performance.now()
  identifyCall(request, response)
  const label = labelOf(request)
  response.on('finish', () => {
    deps.meters.answered(label, response.statusCode, (performance.now() - started) / 1000)
  })
}
