import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Sink, startSink } from '../start-sink.ts'

const host = 'api.push.apple.com'
let sink: Sink

beforeAll(async () => {
  sink = await startSink()
})
afterAll(() => sink.stop())

async function firstLine(request: string): Promise<string> {
  const socket = connect(sink.proxyPort, '127.0.0.1')
  socket.write(request)
  const [chunk] = await once(socket, 'data')
  socket.destroy()
  return String(chunk).split('\r\n')[0]!
}

describe('the proxy of the sink', () => {
  it('connects a client that calls APNs by its own name to the sink, with a certificate that it can check', async () => {
    const socket = connect(sink.proxyPort, '127.0.0.1')
    // In two pieces, as a slow client sends it.
    socket.write(`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}`)
    socket.write(':443\r\n\r\n')
    const [reply] = await once(socket, 'data')
    expect(String(reply)).toMatch(/^HTTP\/1\.1 200 /)
    const tls = connectTls({ socket, servername: host, ca: sink.authority, ALPNProtocols: ['h2'] })
    await once(tls, 'secureConnect')
    expect([tls.authorized, tls.alpnProtocol]).toEqual([true, 'h2'])
    const session = connectHttp2(`https://${host}`, { createConnection: () => tls })
    try {
      const stream = session.request({ ':method': 'POST', ':path': '/3/device/abc' })
      stream.end('{}')
      const [headers] = await once(stream, 'response')
      expect(headers[':status']).toBe(200)
      expect(await sink.takeCounts()).toEqual({ requests: 1, distinct: 1 })
    } finally {
      session.destroy()
      socket.destroy()
    }
  })

  it('refuses what is not CONNECT', async () => {
    expect(await firstLine('GET / HTTP/1.1\r\n\r\n')).toBe('HTTP/1.1 405 Method Not Allowed')
  })
})
