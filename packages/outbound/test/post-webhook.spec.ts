import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createWebhookPoster, newWebhookSecret, type WebhookPoster } from '../src/index.ts'

describe('a request to a webhook', () => {
  let server: Server
  let port: number
  let sockets: Set<Socket>
  let called: (string | undefined)[]
  let requests: number
  let answer: (request: IncomingMessage, response: ServerResponse) => void
  let poster: WebhookPoster | undefined

  beforeEach(async () => {
    sockets = new Set()
    called = []
    requests = 0
    answer = (request, response) => {
      request.resume()
      request.on('end', () => response.end('fine'))
    }
    server = createServer((request, response) => {
      requests++
      answer(request, response)
    })
    // Node closes an idle connection after five seconds, which may pass between two requests.
    server.keepAliveTimeout = 600_000
    server.on('connection', (socket) => {
      sockets.add(socket)
      called.push(socket.localAddress)
    })
    // All of 127.0.0.0/8, so that a name can lead to two addresses.
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
    port = (server.address() as AddressInfo).port
  })
  afterEach(async () => {
    poster?.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const open = (options: Parameters<typeof createWebhookPoster>[0]) => {
    poster = createWebhookPoster({ limitMs: 120_000, ...options })
    return (body = 'x') =>
      poster!.post({
        url: `http://hooks.example.com:${port}/`,
        secret: newWebhookSecret(),
        id: 'msg_1',
        body: Buffer.from(body),
      })
  }
  const here = { mayCall: () => true, resolveName: async () => ['127.0.0.1'] }

  it('uses its connection again, as long as the name leads to the same address', async () => {
    let address = '127.0.0.1'
    const post = open({ mayCall: () => true, resolveName: async () => [address] })
    for (let i = 0; i < 3; i++) expect(await post()).toEqual({ status: 200 })
    expect(sockets.size).toBe(1)
    address = '127.0.0.2'
    expect(await post()).toEqual({ status: 200 })
    expect(sockets.size).toBe(2)
    expect(called).toEqual(['127.0.0.1', '127.0.0.2'])
  })

  it('tries the next address if one leads nowhere', async () => {
    // Nothing listens on it, as on the address of IPv6 of many hosts.
    const post = open({ mayCall: () => true, resolveName: async () => ['::1', '127.0.0.1'] })
    expect(await post()).toEqual({ status: 200 })
    expect(called).toEqual(['127.0.0.1'])
  })

  it('uses its connection again if the same addresses come in another order', async () => {
    const addresses = ['127.0.0.1', '127.0.0.2']
    const post = open({ mayCall: () => true, resolveName: async () => addresses.reverse() })
    for (let i = 0; i < 3; i++) expect(await post()).toEqual({ status: 200 })
    expect(sockets.size).toBe(1)
  })

  it('is not made if one of the addresses may not be called', async () => {
    const post = open({
      mayCall: (address) => address !== '127.0.0.3',
      resolveName: async () => ['127.0.0.1', '127.0.0.3'],
    })
    expect(await post()).toEqual({ error: 'the url must not point to a private address' })
    expect(sockets.size).toBe(0)
  })

  it('is made again if the server closed the idle connection', async () => {
    const post = open(here)
    await post()
    for (const socket of sockets) socket.destroy()
    expect(await post()).toEqual({ status: 200 })
    expect(requests).toBe(2)
  })

  it('does not wait for an answer that never ends, nor for a body that is never read', async () => {
    answer = (_request, response) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        if (!response.destroyed) response.once('drain', more)
      }
      more()
    }
    const post = open(here)
    expect(await post()).toEqual({ status: 200 })
    answer = (_request, response) => response.writeHead(413, { connection: 'close' }).end()
    expect(await post('x'.repeat(1_000_000))).toEqual({ status: 413 })
  })

  it('says what happened', async () => {
    answer = (_request, response) => response.writeHead(503, { 'retry-after': '7' }).end()
    expect(await open(here)()).toEqual({ status: 503, retryAfter: 7 })
    poster!.close()
    answer = () => {}
    expect(await open({ ...here, limitMs: 200 })()).toEqual({ error: 'no answer within 0.2 s' })
    poster!.close()
    const unknown = async () => {
      throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
    }
    expect(await open({ ...here, resolveName: unknown })()).toEqual({
      error: 'the request failed (ENOTFOUND)',
    })
  })
})
