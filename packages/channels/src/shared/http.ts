import { rootCertificates } from 'node:tls'
import type { Outcome } from '@herald/domain'
import { Agent, type Dispatcher, ProxyAgent } from 'undici'
import type { TransportDeps } from '../channel.ts'
import { follow } from './follow.ts'

type HttpRequest = {
  method?: 'GET' | 'POST'
  /** Absolute URL: base URL of the process settings plus the vendor's path. */
  url: string
  headers?: Record<string, string>
  body?: string | Buffer
  /** The runner's signal; a call without one is bounded by the time limit alone. */
  signal?: AbortSignal
}

/** Header names in lower case; repeated headers joined by a comma. */
export type HttpReply = { status: number; headers: Readonly<Record<string, string>>; text: string }

type FailureKind = 'timeout' | 'aborted' | 'network' | 'oversized'

/**
 * There is no whole answer, so nobody knows what the vendor did. The message never holds an address, a token or a
 * body: it ends up in failure lists that operators copy around.
 */
export class TransportFailure extends Error {
  readonly kind: FailureKind
  constructor(kind: FailureKind, message: string) {
    super(message)
    this.kind = kind
  }
}

export type HttpClient = {
  /** Resolves with whatever status the vendor answered; throws TransportFailure when there is no whole answer. */
  call(request: HttpRequest): Promise<HttpReply>
  close(): Promise<void>
}

export type HttpClientOptions = Pick<TransportDeps, 'proxy' | 'ca' | 'timeoutMs'> & {
  /** Answers above this are not read to the end. */
  mostBytes?: number
}

export function openHttpClient(options: HttpClientOptions): HttpClient {
  const { timeoutMs, mostBytes = 4 << 20 } = options
  const dispatcher = openDispatcher(options)
  return {
    async call(request) {
      const { signal } = request
      if (signal?.aborted) throw new TransportFailure('aborted', 'the send was stopped')
      // One timer over connect, headers and body: undici's own limits are per phase, and a vendor that trickles
      // bytes would hold the worker far beyond deps.timeoutMs.
      const stop = new AbortController()
      let timedOut = false
      const timer = setTimeout(() => {
        timedOut = true
        stop.abort()
      }, timeoutMs)
      const letGo = signal && follow(stop, signal)
      try {
        const url = new URL(request.url)
        const reply = await dispatcher.request({
          origin: url.origin,
          path: url.pathname + url.search,
          method: request.method ?? 'POST',
          headers: request.headers,
          body: request.body,
          signal: stop.signal,
          headersTimeout: 0,
          bodyTimeout: 0,
        })
        const text = await readText(reply.body, mostBytes)
        return { status: reply.statusCode, headers: plainHeaders(reply.headers), text }
      } catch (error) {
        if (error instanceof TransportFailure) throw error
        if (signal?.aborted) throw new TransportFailure('aborted', 'the send was stopped')
        if (timedOut) throw new TransportFailure('timeout', `no answer within ${timeoutMs} ms`)
        throw new TransportFailure('network', `connection failed (${errorCode(error)})`)
      } finally {
        clearTimeout(timer)
        letGo?.()
      }
    },
    // destroy, not close: close waits for a vendor that never answers.
    close: () => dispatcher.destroy(),
  }
}

/** What a call without an answer means for its recipients; an abort is thrown on, so that they stay unreported. */
export function outcomeOfFailure(error: unknown): Outcome {
  if (error instanceof TransportFailure && error.kind !== 'aborted')
    return { kind: 'unavailable', reason: `${error.kind}: ${error.message}` }
  throw error
}

/** Seconds named by Retry-After, as a number or an HTTP date; undefined when absent or unreadable. */
export function retryAfterSeconds(headers: HttpReply['headers'], nowMs: number): number | undefined {
  const value = headers['retry-after']?.trim()
  if (!value) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1000))
}

/** The answer as a JSON object, or undefined: vendors answer HTML from their gateways on bad days. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** Base URL of the settings and a vendor path, whether or not the base ends in a slash. */
export function joinUrl(base: string, path: string): string {
  return base.replace(/\/+$/, '') + path
}

/** Connections kept to one origin. */
const connections = 32

function openDispatcher(options: HttpClientOptions): Dispatcher {
  const tls = options.ca ? { ca: [...rootCertificates, options.ca] } : {}
  const common = { connections, pipelining: 1, keepAliveTimeout: 30_000, keepAliveMaxTimeout: 300_000 }
  if (options.proxy) return new ProxyAgent({ ...common, uri: options.proxy, requestTls: tls, proxyTls: tls })
  return new Agent({ ...common, connect: { ...tls, timeout: options.timeoutMs } })
}

async function readText(body: AsyncIterable<Buffer>, most: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > most) throw new TransportFailure('oversized', `the answer is larger than ${most} bytes`)
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

function errorCode(error: unknown): string {
  let name = 'unknown'
  for (
    let e = error as { code?: unknown; name?: unknown; cause?: unknown } | undefined;
    e;
    e = e.cause as typeof e
  ) {
    if (typeof e.code === 'string') return e.code
    if (typeof e.name === 'string') name = e.name
  }
  return name
}
