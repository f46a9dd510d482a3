import { limitTime } from '@herald/async'
import { proxyFor, secureContextOf } from '@herald/http2'
import { Agent, type Dispatcher, ProxyAgent } from 'undici'
import type { TransportDeps } from '../channel.ts'
import { abortWith } from './abort.ts'
import { connectionProblem } from './connection-problem.ts'
import { type HttpReply, TransportFailure } from './http.ts'
import { vendorTls } from './vendor-tls.ts'

type HttpRequest = {
  method?: 'GET' | 'POST'
  /** Absolute URL: the base URL from the settings and the vendor's path. */
  url: string
  headers?: Record<string, string>
  body?: string | Buffer
  signal?: AbortSignal
}

export type HttpClient = {
  /** Resolves with any HTTP status; throws TransportFailure when there is no complete reply. */
  call(request: HttpRequest): Promise<HttpReply>
  close(): Promise<void>
}

export type HttpClientOptions = Pick<TransportDeps, 'proxy' | 'ca' | 'timeoutMs'> & {
  /** Maximum size of a reply. */
  maxBytes?: number
}

export function openHttpClient(options: HttpClientOptions): HttpClient {
  const { timeoutMs, maxBytes = 4 << 20 } = options
  const { dispatcherFor, destroy } = openDispatchers(options)
  return {
    async call(request) {
      const { signal } = request
      if (signal?.aborted) throw new TransportFailure('aborted', 'the send was stopped')
      // One timer for connect, headers and body: undici's own limits are per phase, so a vendor that sends single bytes would
      // block the worker far beyond timeoutMs.
      const stop = new AbortController()
      let timedOut = false
      const endTimer = limitTime(timeoutMs, () => {
        timedOut = true
        stop.abort()
      })
      const unlink = signal && abortWith(stop, signal)
      try {
        const url = new URL(request.url)
        const reply = await dispatcherFor(url).request({
          origin: url.origin,
          path: url.pathname + url.search,
          method: request.method ?? 'POST',
          headers: request.headers,
          body: request.body,
          signal: stop.signal,
          headersTimeout: 0,
          bodyTimeout: 0,
        })
        const text = await readText(reply.body, maxBytes)
        return { status: reply.statusCode, headers: plainHeaders(reply.headers), text }
      } catch (error) {
        if (error instanceof TransportFailure) throw error
        if (signal?.aborted) throw new TransportFailure('aborted', 'the send was stopped')
        if (timedOut) throw new TransportFailure('timeout', `no reply within ${timeoutMs} ms`)
        throw new TransportFailure('network', problemOf(error))
      } finally {
        endTimer()
        unlink?.()
      }
    },
    // destroy, not close: close waits for calls in flight.
    close: destroy,
  }
}

/** Maximum number of connections per origin. */
const connections = 32

function openDispatchers({ proxy, ca, timeoutMs }: HttpClientOptions) {
  const tls = { secureContext: secureContextOf(vendorTls(ca)) }
  const common = { connections, pipelining: 1, keepAliveTimeout: 30_000, keepAliveMaxTimeout: 300_000 }
  const direct = new Agent({ ...common, connect: { ...tls, timeout: timeoutMs } })
  const proxied = proxy
    ? new ProxyAgent({ ...common, uri: proxy, requestTls: tls, proxyTls: tls })
    : undefined
  return {
    dispatcherFor: (url: URL): Dispatcher => (proxied && proxyFor(url, proxy) ? proxied : direct),
    async destroy() {
      await Promise.all([direct.destroy(), proxied?.destroy()])
    },
  }
}

async function readText(body: AsyncIterable<Buffer>, max: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > max) throw new TransportFailure('oversized', `the reply is larger than ${max} bytes`)
    chunks.push(chunk)
  }
  return (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString('utf8')
}

function plainHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const plain: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) plain[name] = Array.isArray(value) ? value.join(', ') : value
  return plain
}

/** undici wraps the error of the system or TLS in its own. */
function problemOf(error: unknown): string {
  let name = 'unknown'
  for (
    let e = error as { code?: unknown; name?: unknown; cause?: unknown } | undefined;
    e;
    e = e.cause as typeof e
  ) {
    const problem = typeof e.code === 'string' ? connectionProblem(e.code) : undefined
    if (problem) return problem
    if (typeof e.name === 'string') name = e.name
  }
  return `the connection failed (${name})`
}
