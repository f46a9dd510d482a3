import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, TLSSocket } from 'node:tls'
import { type Endpoint, type ProxyEndpoint, readEndpoint, type TlsOptions } from './endpoint.ts'
import { secureContextOf, trustOf } from './secure-context.ts'

const maxProxyReplyBytes = 16_384

/** Opens a socket for HTTP/2, through the proxy if there is one. `abort` ends the attempt. */
export async function dial(endpoint: Endpoint, tls: TlsOptions, abort: AbortSignal): Promise<Socket> {
  const socket = await open(endpoint, tls, abort, ['h2'])
  if (!(socket instanceof TLSSocket) || socket.alpnProtocol === 'h2') return socket.setNoDelay(true)
  socket.destroy()
  throw new Error(notHttp2(endpoint, `ALPN selected ${socket.alpnProtocol || 'nothing'}`))
}

/** Why there is no connection, if the server speaks another protocol. */
export function notHttp2({ host, port }: Endpoint, sign: string): string {
  return `${host}:${port} did not agree to HTTP/2 (${sign})`
}

/** Checks that a server can be reached: connects, completes the TLS handshake and disconnects. Rejects with the reason. */
export async function reach(
  url: string,
  options: { tls?: TlsOptions; proxy?: string; abort: AbortSignal },
): Promise<void> {
  const endpoint = readEndpoint(new URL(url).origin, options.proxy)
  const socket = await open(endpoint, options.tls ?? {}, options.abort, ['h2', 'http/1.1'])
  socket.destroy()
}

async function open(
  endpoint: Endpoint,
  tls: TlsOptions,
  abort: AbortSignal,
  protocols: string[],
): Promise<Socket> {
  const { proxy } = endpoint
  const carrier = proxy === undefined ? undefined : await tunnel(proxy, endpoint, trustOf(tls), abort)
  if (!endpoint.secure) return carrier ?? (await openTcp(endpoint.host, endpoint.port, abort))
  const socket = connectTls({
    secureContext: secureContextOf(tls),
    servername: tls.servername ?? (isIP(endpoint.host) ? '' : endpoint.host),
    ...(tls.rejectUnauthorized === undefined ? {} : { rejectUnauthorized: tls.rejectUnauthorized }),
    ALPNProtocols: protocols,
    ...(carrier === undefined
      ? { host: endpoint.host, port: endpoint.port }
      : { socket: carrier, host: endpoint.host }),
  })
  await opened(socket, 'secureConnect', abort, carrier)
  return socket
}

async function openTcp(host: string, port: number, abort: AbortSignal): Promise<Socket> {
  const socket = connectTcp({ host, port, noDelay: true })
  await opened(socket, 'connect', abort)
  return socket
}

/** CONNECT through an HTTP proxy (RFC 9110 section 9.3.6). */
async function tunnel(
  proxy: ProxyEndpoint,
  target: Endpoint,
  trust: TlsOptions,
  abort: AbortSignal,
): Promise<Socket> {
  const socket = proxy.secure
    ? connectTls({
        host: proxy.host,
        port: proxy.port,
        servername: isIP(proxy.host) ? '' : proxy.host,
        secureContext: secureContextOf(trust),
      })
    : connectTcp({ host: proxy.host, port: proxy.port, noDelay: true })
  await opened(socket, proxy.secure ? 'secureConnect' : 'connect', abort)
  const host = isIP(target.host) === 6 ? `[${target.host}]` : target.host
  const authority = `${host}:${target.port}`
  const credentials =
    proxy.authorization === undefined ? '' : `proxy-authorization: ${proxy.authorization}\r\n`
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${credentials}\r\n`)
  const { head, rest } = await readHead(socket, abort)
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1]
  if (status?.startsWith('2')) {
    if (rest.length > 0) socket.unshift(rest)
    return socket
  }
  socket.destroy()
  throw new Error(
    `the proxy ${proxy.host}:${proxy.port} refused to connect to ${authority} (${status ?? 'not an HTTP reply'})`,
  )
}

function readHead(socket: Socket, abort: AbortSignal): Promise<{ head: string; rest: Buffer }> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    const finish = (error: Error | undefined, headEnd = 0) => {
      socket.off('readable', read).off('error', fail).off('close', closed)
      abort.removeEventListener('abort', aborted)
      if (error === undefined)
        return resolve({ head: bytes.toString('latin1', 0, headEnd), rest: bytes.subarray(headEnd + 4) })
      socket.destroy()
      reject(error)
    }
    const read = () => {
      for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
        bytes = Buffer.concat([bytes, chunk])
        const headEnd = bytes.indexOf('\r\n\r\n')
        if (headEnd >= 0) return finish(undefined, headEnd)
        if (bytes.length > maxProxyReplyBytes)
          return finish(
            new Error(`the proxy's reply has no end of headers within ${maxProxyReplyBytes} bytes`),
          )
      }
    }
    const fail = (error: Error) => finish(error)
    const closed = () => finish(new Error('the proxy closed the connection without a reply'))
    const aborted = () => finish(reasonOf(abort))
    socket.on('readable', read).on('error', fail).on('close', closed)
    abort.addEventListener('abort', aborted)
  })
}

function opened(socket: Socket, event: string, abort: AbortSignal, carrier?: Socket): Promise<void> {
  // Never removed: an error before the next owner listens, or after an abort, must not be an uncaught exception.
  socket.on('error', () => {})
  return new Promise((resolve, reject) => {
    const finish = (error?: Error) => {
      socket.off(event, done).off('error', fail).off('close', closed)
      abort.removeEventListener('abort', aborted)
      if (error === undefined) return resolve()
      socket.destroy()
      carrier?.destroy()
      reject(error)
    }
    const done = () => finish()
    const fail = (error: Error) => finish(error)
    const closed = () => finish(new Error('the connection closed before it was established'))
    const aborted = () => finish(reasonOf(abort))
    socket.on(event, done).on('error', fail).on('close', closed)
    if (abort.aborted) aborted()
    else abort.addEventListener('abort', aborted)
  })
}

function reasonOf(abort: AbortSignal): Error {
  return abort.reason instanceof Error ? abort.reason : new Error('the connection attempt was aborted')
}
