import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { until } from '@herald/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type CuttableProxy, startCuttableProxy } from '../cuttable-proxy.ts'

let server: Server
let proxies: CuttableProxy[]
let clients: Client[]
let atServer: Socket[]

beforeEach(async () => {
  proxies = []
  clients = []
  atServer = []
  server = createServer((socket) => {
    socket.on('error', () => {})
    socket.pipe(socket)
    atServer.push(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})

afterEach(async () => {
  for (const { socket } of clients) socket.destroy()
  for (const socket of atServer) socket.destroy()
  await Promise.all(proxies.map((proxy) => proxy.close()))
  await new Promise((resolve) => server.close(resolve))
})

async function open(patienceMs?: number): Promise<CuttableProxy> {
  const proxy = await startCuttableProxy((server.address() as { port: number }).port, patienceMs)
  proxies.push(proxy)
  return proxy
}

type Client = { socket: Socket; heard: string; error?: NodeJS.ErrnoException }

/** A client of the server, which returns what it gets. */
function join({ port }: CuttableProxy): Client {
  const client: Client = { socket: connect(port, '127.0.0.1'), heard: '' }
  client.socket.on('data', (bytes) => {
    client.heard += bytes
  })
  client.socket.on('error', (error) => {
    client.error = error
  })
  clients.push(client)
  return client
}

async function say(client: Client, text: string): Promise<void> {
  client.socket.write(text)
  await until(() => client.heard.endsWith(text), { what: `the echo of ${text}` })
}

const closed = ({ socket }: Client) => until(() => socket.closed, { what: 'the client to be closed' })

describe('a proxy that can be cut', () => {
  it('passes nothing during the cut, and afterwards everything that was sent', async () => {
    const proxy = await open()
    const client = join(proxy)
    await say(client, 'before ')
    proxy.cut()
    client.socket.write('during ')
    const other = await open()
    // What travels through another proxy in the same time would have travelled through this one as well.
    await say(join(other), 'other')
    expect(client.heard).toBe('before ')
    proxy.restore()
    await until(() => client.heard === 'before during ', { what: 'what was sent during the cut' })
    await say(client, 'after')
    expect(atServer).toHaveLength(2)
  })

  it('resets a connection at the end of the cut if the server has given it up', async () => {
    const proxy = await open(20)
    const client = join(proxy)
    await say(client, 'before')
    proxy.cut()
    await until(() => atServer[0]!.closed, { what: 'the server to give up' })
    expect(client.socket.destroyed).toBe(false)
    proxy.restore()
    await closed(client)
    expect(client.error?.code).toBe('ECONNRESET')
    await say(join(proxy), 'again')
  })

  it('does not tell the server about a client that ends during the cut', async () => {
    const proxy = await open()
    const client = join(proxy)
    await say(client, 'before')
    proxy.cut()
    client.socket.resetAndDestroy()
    await closed(client)
    await say(join(await open()), 'other')
    expect(atServer[0]!.closed).toBe(false)
    proxy.restore()
    await until(() => atServer[0]!.closed, { what: 'the server to notice' })
  })

  it('makes a connection that was begun during the cut at its end', async () => {
    const proxy = await open(20)
    proxy.cut()
    const client = join(proxy)
    await once(client.socket, 'connect')
    client.socket.write('hello')
    await say(join(await open()), 'other')
    expect(atServer).toHaveLength(1)
    proxy.restore()
    await until(() => client.heard === 'hello', { what: 'the connection' })
  })

  it('passes on that one side ended or was reset', async () => {
    const proxy = await open()
    const ending = join(proxy)
    await say(ending, 'a')
    atServer[0]!.end()
    await closed(ending)
    expect(ending.error).toBeUndefined()
    const reset = join(proxy)
    await say(reset, 'b')
    atServer[1]!.resetAndDestroy()
    await closed(reset)
    expect(reset.error?.code).toBe('ECONNRESET')
  })
})
