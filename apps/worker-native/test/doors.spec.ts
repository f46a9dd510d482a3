import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, startApp, until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { nativeGateway } from '../src/index.ts'
import { connect, dial, openStage, type Stage } from './stage.ts'

describe('where a gateway listens', () => {
  let stage: Stage
  let app: string
  const folder = mkdtempSync(join(tmpdir(), 'herald-tls-'))
  beforeAll(async () => {
    stage = await openStage()
    app = await stage.addApplication('doors')
  })
  afterAll(async () => {
    await stage.close()
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
    const gateway = await stage.startGateway({ HERALD_GATEWAY_TLS_CERT: cert, HERALD_GATEWAY_TLS_KEY: key })
    const device = await stage.addDevice(app)
    const connection = await connect(gateway.url.replace('ws:', 'wss:'), device)
    await until(() => stage.isOnline(device))
    const task = await stage.notify(app, [device])
    await connection.gets(task)
    await expect(dial(gateway.url)).rejects.toThrow()
    connection.cut()
    await gateway.stop()
  })

  it('shares a server with others, and gives it back when it stops', async () => {
    const server = createServer((_request, response) => response.end('theirs'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const running = await nativeGateway({ server }).start(stage)
    const device = await stage.addDevice(app)
    const connection = await connect(`ws://127.0.0.1:${port}/native`, device)
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('theirs')
    await expect(dial(`ws://127.0.0.1:${port}/elsewhere`)).rejects.toThrow('404')
    await running.stop()
    expect(await connection.closed()).toMatchObject({ code: 4503 })
    expect(server.listenerCount('upgrade')).toBe(0)
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  it('answers no handshake on a shared server when it could not start, nor from the moment it stops', async () => {
    const server = createServer()
    const pool = { query: () => Promise.reject(new Error('Postgres is away')) }
    const broken = { ...stage, db: { ...stage.db, pool } as never }
    await expect(nativeGateway({ server }).start(broken)).rejects.toThrow('Postgres is away')
    expect(server.listenerCount('upgrade')).toBe(0)

    const running = await nativeGateway({ server }).start(stage)
    expect(server.listenerCount('upgrade')).toBe(1)
    const stopped = running.stop()
    expect(server.listenerCount('upgrade')).toBe(0)
    await stopped
  })

  it('lets go of a caller it has refused, whether or not the caller hangs up', async () => {
    const gateway = await stage.startGateway()
    const caller = createConnection({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true })
    let answer = ''
    caller
      .on('error', () => {})
      .on('data', (text) => {
        answer += text
      })
    caller.write('GET /elsewhere HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
    await until(() => answer.startsWith('HTTP/1.1 404'))
    let stopped = false
    const stopping = gateway.stop().then(() => {
      stopped = true
    })
    await until(() => stopped, { what: 'the end of the gateway' }).finally(() => caller.destroy())
    await stopping
  })

  it('takes only so many connections of one address', async () => {
    const gateway = await stage.startGateway({ HERALD_GATEWAY_PER_ADDRESS: '2' })
    const from = (localAddress: string) => dial(gateway.url, { localAddress })
    const first = await from('127.0.0.1')
    const others = [await from('127.0.0.1'), await from('127.0.0.2')]
    await expect(from('127.0.0.1')).rejects.toThrow('429')
    first.cut()
    others.push(await until(() => from('127.0.0.1').catch(() => undefined)))
    for (const connection of others) connection.cut()
    await gateway.stop()
  })

  it('holds a device back that connects again and again', async () => {
    const gateway = await stage.startGateway()
    const device = await stage.addDevice(app)
    const codes: number[] = []
    for (let n = 0; n < 30 && !codes.includes(4429); n++) {
      const connection = await dial(gateway.url)
      connection.send({ op: 'hello', push_token: device.pushToken })
      await until(() => connection.frames.length > 0 || connection.isClosed())
      if (connection.isClosed()) codes.push((await connection.closed()).code)
      connection.cut()
    }
    expect(codes).toContain(4429)
    await gateway.stop()
  })

  it('survives what is no handshake and no frame', async () => {
    const gateway = await stage.startGateway()
    const handshake = `GET /native HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\nsec-websocket-protocol: herald.v1\r\n\r\n`
    const sockets = Array.from({ length: 200 }, (_, n) => {
      const socket = createConnection(gateway.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.on('data', () => {})
      const noise = randomBytes(1 + ((n * 37) % 4000))
      // Half of them are well-formed until they are connections.
      socket.write(n % 2 ? Buffer.concat([Buffer.from(handshake), noise]) : noise)
      if (n % 3 === 0) socket.end()
      return socket
    })
    await until(() => sockets.every((socket) => socket.bytesWritten > 0))
    const device = await stage.addDevice(app)
    const connection = await connect(gateway.url, device)
    await until(() => stage.isOnline(device))
    await connection.gets(await stage.notify(app, [device]))
    connection.cut()
    for (const socket of sockets) socket.destroy()
    await gateway.stop()
  })

  it('says in one sentence what is wrong with its settings or its port', async () => {
    const taken = createServer()
    const port = await freePort()
    await new Promise<void>((resolve) => taken.listen(port, '127.0.0.1', resolve))
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
      const gateway = startApp('apps/worker-native/src/main.ts', { ...stage.environment, ...env })
      expect(await gateway.exited).toMatchObject({ code: 1 })
      expect(gateway.output()).toMatch(sentence)
      expect(gateway.output()).not.toMatch(/^\s+at /m)
    }
    await new Promise((resolve) => taken.close(resolve))
  })

  it('serves a page that is a device', async () => {
    const gateway = await stage.startGateway()
    const page = await fetch(`http://127.0.0.1:${gateway.port}/native/demo?app_id=x`)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const script = await fetch(`http://127.0.0.1:${gateway.port}/native/demo/device.ts`)
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(await script.text()).toContain('export function connectDevice(options')
    for (const path of ['/native/demo/../gateway.ts', '/native/demo/main.ts', '/native/demo/%2e%2e/door.ts'])
      expect((await fetch(`http://127.0.0.1:${gateway.port}${path}`)).status).toBe(404)
    await gateway.stop()
  })
})
