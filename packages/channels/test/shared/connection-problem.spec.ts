import { createServer } from 'node:http'
import type { Server } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { createAuthority } from '@herald/simulators/authority'
import { freePort, listen } from '@herald/testkit'
import { afterEach, describe, expect, it } from '@jest/globals'
import { codeIn, connectionProblem } from '../../src/shared/connection-problem.ts'
import { openVendorPool } from '../../src/shared/vendor-pool.ts'

describe('the text of a failed connection', () => {
  it.each([
    ['connect ECONNREFUSED 127.0.0.1:443', 'the server refused the connection (ECONNREFUSED)'],
    ['getaddrinfo ENOTFOUND api.push.apple.com', 'the host name could not be resolved (ENOTFOUND)'],
    [
      'self-signed certificate in certificate chain (SELF_SIGNED_CERT_IN_CHAIN)',
      'the TLS certificate of the server is not trusted (SELF_SIGNED_CERT_IN_CHAIN)',
    ],
    [
      'api.push.apple.com:443 did not agree to HTTP/2 (ALPN selected nothing)',
      'the server did not agree to HTTP/2',
    ],
    ['0A000460:SSL routines:tlsv1 alert no application protocol:..', 'the server did not agree to HTTP/2'],
    ['sslv3 alert certificate expired:ssl/record.c', 'the TLS handshake failed (alert certificate expired)'],
    [
      'the proxy 10.0.0.1:3128 refused to connect to a.example:443 (403)',
      'the proxy refused the connection (403)',
    ],
    ['the proxy closed the connection without a reply', 'the proxy did not open a connection'],
    ['no HTTP/2 connection was established within 5000 ms', 'no connection within the time limit'],
    ['write ESOMETHING', 'the connection failed (ESOMETHING)'],
    ['the connection was drained', undefined],
  ])('of “%s” is %j, without addresses', (message, expected) => {
    expect(connectionProblem(codeIn(message), message)).toBe(expected)
  })
})

describe('a pool that gets no connection says why', () => {
  const opened: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close()
  })

  async function failureAt(origin: string, over: { ca?: string; proxy?: string } = {}): Promise<string> {
    const pool = openVendorPool({ origin, deps: { timeoutMs: 60_000, ...over } })
    opened.push(pool.close)
    let text = ''
    await pool.multicast({
      count: 1,
      headers: {},
      path: '/',
      body: '',
      signal: new AbortController().signal,
      onReply: () => {},
      onFailure: (_, { reason }) => {
        text = reason.text
      },
    })
    return text
  }

  function start(server: Server): Promise<number> {
    opened.push(() => new Promise((resolve) => server.close(() => resolve())))
    return listen(server)
  }

  function tlsServer(protocols?: string[]) {
    const authority = createAuthority('spec')
    const { cert, key } = authority.issue({ subject: { CN: 'localhost' }, hosts: ['127.0.0.1'] })
    const server = createTlsServer({ cert, key, ALPNProtocols: protocols }, (socket) => socket.destroy())
    server.on('tlsClientError', () => {})
    return { server, ca: authority.cert }
  }

  it.each([[undefined], [['http/1.1']]])('when ALPN offers %p', async (protocols) => {
    const { server, ca } = tlsServer(protocols)
    const origin = `https://127.0.0.1:${await start(server)}`
    expect(await failureAt(origin, { ca })).toBe('the server did not agree to HTTP/2')
  })

  it('when the certificate is not trusted', async () => {
    const { server } = tlsServer(['h2'])
    const text = await failureAt(`https://127.0.0.1:${await start(server)}`)
    expect(text).toMatch(/^the TLS certificate of the server is not trusted \([A-Z_]+\)$/)
  })

  it('when nothing listens', async () => {
    expect(await failureAt(`https://127.0.0.1:${await freePort()}`)).toBe(
      'the server refused the connection (ECONNREFUSED)',
    )
  })

  it('when a proxy cannot connect', async () => {
    const refusing = createServer()
    refusing.on('connect', (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'))
    const proxy = `http://127.0.0.1:${await start(refusing)}`
    expect(await failureAt('https://vendor.example', { proxy })).toBe(
      'the proxy refused the connection (403)',
    )
  })
})
