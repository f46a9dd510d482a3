import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { closeServer, freePort, listen, startApp, until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { WebSocket } from 'ws'
import { nativeGateway } from '../src/index.ts'
import { limitHalfOpen } from '../src/listener.ts'
import { createUpgrade, type Upgrade } from '../src/upgrade.ts'
import { connect, dial, type Harness, handshake, openHarness } from './harness.ts'

describe('where a gateway listens', () => {
  let harness: Harness
  let app: string
  const folder = mkdtempSync(join(tmpdir(), 'herald-tls-'))
  beforeAll(async () => {
    harness = await openHarness()
    app = await harness.addApplication('listener')
  })
  afterAll(async () => {
    await harness.close()
    rmSync(folder, { recursive: true })
  })

  it('speaks TLS when it is given a certificate', async () => {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    execFileSync('openssl', [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '1',
      ],
      ...['-subj', '/CN=localhost', '-keyout', key, '-out', cert],
    ])
    const gateway = await harness.startGateway({ HERALD_GATEWAY_TLS_CERT: cert, HERALD_GATEWAY_TLS_KEY: key })
    const device = await harness.addDevice(app)
    const connection = await connect(gateway.url.replace('ws:', 'wss:'), device)
    await until(() => harness.isOnline(device))
    const task = await harness.notify(app, [device])
    await connection.gets(task)
    await expect(dial(gateway.url)).rejects.toThrow()
    connection.cut()
    await gateway.stop()
  })

  it('shares a server, and removes its listener when it stops', async () => {
    const server = createServer((_request, response) => response.end('shared'))
    const port = await listen(server)
    const running = await nativeGateway({ server }).start(harness)
    const device = await harness.addDevice(app)
    const connection = await connect(`ws://127.0.0.1:${port}/native`, device)
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('shared')
    await expect(dial(`ws://127.0.0.1:${port}/elsewhere`)).rejects.toThrow('404')
    await running.stop()
    expect(await connection.closed()).toMatchObject({ code: 4503 })
    expect(server.listenerCount('upgrade')).toBe(0)
    await closeServer(server)
  })

  it('handles no handshake on a shared server when it could not start, nor once it stops', async () => {
    const server = createServer()
    const pool = { query: () => Promise.reject(new Error('Postgres is down')) }
    const broken = { ...harness, db: { ...harness.db, pool } as never }
    await expect(nativeGateway({ server }).start(broken)).rejects.toThrow('Postgres is down')
    expect(server.listenerCount('upgrade')).toBe(0)

    const running = await nativeGateway({ server }).start(harness)
    expect(server.listenerCount('upgrade')).toBe(1)
    const stopped = running.stop()
    expect(server.listenerCount('upgrade')).toBe(0)
    await stopped
  })

  it('closes the connection of a refused caller, whether or not the caller does', async () => {
    const gateway = await harness.startGateway()
    const caller = createConnection({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true })
    let answer = ''
    caller
      .on('error', () => {})
      .on('data', (text) => {
        answer += text
      })
    // Without the subprotocol.
    caller.write('GET /native HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
    await until(() => answer.startsWith('HTTP/1.1 400'))
    let stopped = false
    const stopping = gateway.stop().then(() => {
      stopped = true
    })
    await until(() => stopped, { what: 'the end of the gateway' }).finally(() => caller.destroy())
    await stopping
  })

  it('ignores an offer of HTTP/2', async () => {
    const gateway = await harness.startGateway()
    const answers = await Promise.all(
      ['/native/demo', '/elsewhere'].map(async (path) => {
        const caller = createConnection(gateway.port, '127.0.0.1')
        let answer = ''
        caller.on('data', (text) => {
          answer += text
        })
        const offer =
          'connection: close, Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__'
        caller.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n${offer}\r\n\r\n`)
        await once(caller, 'close')
        return answer
      }),
    )
    expect(answers[0]).toMatch(/^HTTP\/1\.1 200 [\s\S]*<!doctype html>/i)
    expect(answers[1]).toMatch(/^HTTP\/1\.1 404 /)
    await gateway.stop()
  })

  it('limits the connections per address', async () => {
    const gateway = await harness.startGateway({ HERALD_GATEWAY_PER_ADDRESS: '2' })
    const from = (localAddress: string) => dial(gateway.url, { localAddress })
    const first = await from('127.0.0.1')
    const others = [await from('127.0.0.1'), await from('127.0.0.2')]
    await expect(from('127.0.0.1')).rejects.toThrow('429')
    first.cut()
    others.push(await until(() => from('127.0.0.1').catch(() => undefined)))
    for (const connection of others) connection.cut()
    await gateway.stop()
  })

  it('limits the connections per address that have not said hello', async () => {
    let unidentified = 1_999
    const upgrade = upgradeWith(
      () => unidentified,
      (socket) => socket.terminate(),
    )
    const server = createServer().on('upgrade', upgrade)
    const url = `ws://127.0.0.1:${await listen(server)}/native`
    await dial(url)
    unidentified++
    await expect(dial(url)).rejects.toThrow('429')
    await new Promise((resolve) => server.close(resolve))
  })

  it('limits the TCP connections per address that send no handshake', async () => {
    const server = createServer()
    let upgraded = 0
    limitHalfOpen(server, () => upgraded, 2)
    const port = await listen(server)
    const open = async (localAddress = '127.0.0.1') => {
      const socket = createConnection({ port, host: '127.0.0.1', localAddress })
      let isClosed = false
      socket
        .on('error', () => {})
        .on('close', () => {
          isClosed = true
        })
      let answer = ''
      socket.on('data', (text) => {
        answer += text
      })
      await once(socket, 'connect')
      return { socket, isClosed: () => isClosed, answer: () => answer }
    }
    const accepted = [await open(), await open(), await open('127.0.0.2')]
    const refused = await open()
    await until(refused.isClosed)
    upgraded = 1
    accepted.push(await open())
    upgraded = 0
    accepted[0]!.socket.destroy()
    accepted[1]!.socket.destroy()
    await until(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count === 2))))
    accepted.push(await open())
    // An invalid request is answered, so these were not refused.
    for (const { socket, answer } of accepted.slice(2)) {
      socket.write('?\r\n\r\n')
      await until(() => answer().startsWith('HTTP/1.1 400'))
    }
    await new Promise((resolve) => server.close(resolve))
  })

  it('closes a client that sends a frame byte by byte with the code of a flood', async () => {
    const upgrade = upgradeWith(
      () => 0,
      (socket) => socket.on('error', () => {}),
    )
    const sent: Buffer[] = []
    // Over TCP the kernel would join the bytes.
    const socket = new Duplex({
      read() {},
      write(chunk, _encoding, done) {
        sent.push(chunk)
        done()
      },
    })
    const headers = {
      upgrade: 'websocket',
      connection: 'upgrade',
      'sec-websocket-key': randomBytes(16).toString('base64'),
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'herald.v1',
    }
    upgrade({ method: 'GET', url: '/native', headers, socket } as never, socket, Buffer.alloc(0))
    socket.push(Buffer.from([0x81, 0xfe, 0x7f, 0xff, 0, 0, 0, 0]))
    for (let n = 0; n < 200; n++) {
      socket.push(Buffer.from('x'))
      await new Promise(setImmediate)
    }
    const close = sent.findIndex((chunk) => chunk[0] === 0x88)
    expect(Buffer.concat(sent.slice(close)).readUInt16BE(2)).toBe(4429)
    socket.destroy()
  })

  it('refuses a device that connects too often', async () => {
    const gateway = await harness.startGateway()
    const device = await harness.addDevice(app)
    // Together: the device may connect again after a while.
    const connections = await Promise.all(Array.from({ length: 30 }, () => dial(gateway.url)))
    for (const connection of connections) connection.send({ op: 'hello', push_token: device.pushToken })
    const closed = () => connections.filter((connection) => connection.isClosed())
    await until(() => closed().length === 29, { what: 'all but one to be closed' })
    const codes = await Promise.all(closed().map(async (connection) => (await connection.closed()).code))
    expect(codes).toContain(4429)
    for (const connection of connections) connection.cut()
    await gateway.stop()
  })

  it('survives invalid handshakes and frames', async () => {
    const gateway = await harness.startGateway()
    const sockets = Array.from({ length: 200 }, (_, n) => {
      const socket = createConnection(gateway.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.on('data', () => {})
      const noise = randomBytes(1 + ((n * 37) % 4000))
      // Half of them begin with a valid handshake.
      socket.write(n % 2 ? Buffer.concat([handshake(), noise]) : noise)
      if (n % 3 === 0) socket.end()
      return socket
    })
    await until(() => sockets.every((socket) => socket.bytesWritten > 0))
    const device = await harness.addDevice(app)
    const connection = await connect(gateway.url, device)
    await until(() => harness.isOnline(device))
    await connection.gets(await harness.notify(app, [device]))
    connection.cut()
    for (const socket of sockets) socket.destroy()
    await gateway.stop()
  })

  it('reports a wrong setting or port in one line', async () => {
    const taken = createServer()
    const port = await freePort()
    await listen(taken, port)
    const cases: [Record<string, string>, RegExp][] = [
      [
        { HERALD_GATEWAY_PORT: String(port) },
        /HERALD_GATEWAY_PORT \d+ of 127\.0\.0\.1 cannot be used \(EADDRINUSE\)/,
      ],
      [{ HERALD_GATEWAY_TLS_CERT: '/nowhere.pem' }, /HERALD_GATEWAY_TLS_KEY must both be set/],
      [
        { HERALD_GATEWAY_TLS_CERT: '/nowhere.pem', HERALD_GATEWAY_TLS_KEY: '/nowhere.pem' },
        /HERALD_GATEWAY_TLS_CERT names the file \/nowhere\.pem, which cannot be read \(ENOENT\)/,
      ],
    ]
    for (const [env, sentence] of cases) {
      const gateway = startApp('apps/worker-native/src/main.ts', { ...harness.environment, ...env })
      expect(await gateway.exited).toMatchObject({ code: 1 })
      expect(gateway.output()).toMatch(sentence)
      expect(gateway.output()).not.toMatch(/^\s+at /m)
    }
    await new Promise((resolve) => taken.close(resolve))
  })

  it('serves the demo page', async () => {
    const gateway = await harness.startGateway()
    const page = await fetch(`http://127.0.0.1:${gateway.port}/native/demo?app_id=x`)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const script = await fetch(`http://127.0.0.1:${gateway.port}/native/demo/device.ts`)
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(await script.text()).toContain('export function connectDevice(options')
    for (const path of [
      '/native/demo/../gateway.ts',
      '/native/demo/main.ts',
      '/native/demo/%2e%2e/listener.ts',
    ])
      expect((await fetch(`http://127.0.0.1:${gateway.port}${path}`)).status).toBe(404)
    await gateway.stop()
  })
})

function upgradeWith(unidentifiedOf: () => number, accept: (socket: WebSocket) => void): Upgrade {
  const countOf = unidentifiedOf
  return createUpgrade({
    trustedProxies: 0,
    perAddress: 5_000,
    countOf,
    unidentifiedOf,
    isDraining: () => false,
    accept,
  })
}
