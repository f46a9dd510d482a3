import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { sleep } from '@herald/async'

type Headers = Readonly<Record<string, string>>

/**
 * Sends requests over a fixed number of connections, one at a time on each, and returns their latencies. It uses raw sockets,
 * because Node's client needs as much CPU as the API that it measures on the same machine.
 */
export async function sendRequests(options: {
  base: string
  path: string
  method?: 'POST' | 'PUT'
  headers: Headers | ((n: number) => Headers)
  connections: number
  count: number
  /** Ends before `count`. */
  isOver?(): boolean
  /** At most this many requests begin per second. Unset: each connection sends the next at once. */
  perSecond?: number
  body(n: number): string
  /** Whether a response accepts the request; by default that of Herald's API. */
  isAccepted?(body: string): boolean
  onSent?(n: number): void
  onResponse?(n: number, body: string): void
}): Promise<{ latencies: number[]; tookMs: number }> {
  const { hostname, port } = new URL(options.base)
  const headOf = (headers: Headers) =>
    `${options.method ?? 'POST'} ${options.path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n` +
    Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')
  const { headers, isAccepted = (response) => response.startsWith('{"code":200') } = options
  const same = typeof headers === 'function' ? undefined : headOf(headers)
  const head = (n: number) => same ?? headOf((headers as (n: number) => Headers)(n))
  const latencies: number[] = []
  let next = 0
  const started = performance.now()
  await Promise.all(
    Array.from({ length: options.connections }, async () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      try {
        while (next < options.count && !options.isOver?.()) {
          const n = next++
          const body = options.body(n)
          if (options.perSecond)
            await sleep(Math.max(0, started + (n * 1000) / options.perSecond - performance.now()))
          const began = performance.now()
          socket.write(`${head(n)}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
          options.onSent?.(n)
          const response = await readBody(socket)
          if (!isAccepted(response)) throw new Error(response)
          latencies.push(performance.now() - began)
          options.onResponse?.(n, response)
        }
      } finally {
        socket.destroy()
      }
    }),
  )
  return { latencies, tookMs: performance.now() - started }
}

/** Reads the next response. The API always sends content-length. */
function readBody(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const end = (error?: Error) => {
      socket.off('data', take).off('error', end).off('close', closed)
      if (error) reject(error)
    }
    const closed = () => end(new Error('the API closed the connection'))
    const take = (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const split = text.indexOf('\r\n\r\n')
      if (split < 0) return
      const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1]
      if (length === undefined) return end(new Error(`no content-length: ${text.slice(0, 200)}`))
      if (text.length < split + 4 + Number(length)) return
      end()
      resolve(text.slice(split + 4))
    }
    socket.on('data', take).on('error', end).on('close', closed)
  })
}
