import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from '@jest/globals'
import { counter, createRegistry, type HealthServer, startHealthServer } from '../src/index.ts'

let server: HealthServer | undefined
afterEach(() => server?.close())

/** The head of the response to a request that `fetch` would not send. */
async function headOf(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.end(`${request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
  return (await text(socket)).split('\r\n')[0]!
}

async function ask(path: string, waiting: () => string[] | Promise<string[]> = () => []) {
  const registry = createRegistry('spec')
  counter(registry, 'herald_native_written_total').inc(3)
  server = await startHealthServer({ host: '127.0.0.1', port: 0, registry, waiting })
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`)
  return { status: answer.status, text: await answer.text() }
}

describe('the health server', () => {
  it('is alive even when not ready', async () => {
    expect(await ask('/healthz', () => ['postgres'])).toEqual({ status: 200, text: '{"alive":true}' })
  })

  it('lists the parts that are not ready', async () => {
    expect(await ask('/readyz', async () => ['postgres'])).toEqual({
      status: 503,
      text: '{"ready":false,"waiting":["postgres"]}',
    })
  })

  it('is ready when all parts are ready', async () => {
    expect(await ask('/readyz?x=1')).toEqual({ status: 200, text: '{"ready":true,"waiting":[]}' })
  })

  it('shows metrics of the process and of the program', async () => {
    const { status, text } = await ask('/metrics')
    expect(status).toBe(200)
    expect(text).toContain('herald_native_written_total{program="spec"} 3')
    expect(text).toContain('process_resident_memory_bytes')
  })

  it('takes an absolute address, and only GET and HEAD', async () => {
    await ask('/healthz')
    const { port } = server!
    expect(await headOf(port, 'GET http://x/healthz?a#b')).toBe('HTTP/1.1 200 OK')
    expect(await headOf(port, 'HEAD /healthz')).toBe('HTTP/1.1 200 OK')
    expect(await headOf(port, 'POST /healthz')).toBe('HTTP/1.1 404 Not Found')
    expect(await headOf(port, 'GET http://x/other')).toBe('HTTP/1.1 404 Not Found')
  })

  it('responds with 404 to other paths and with 500 when the state cannot be read', async () => {
    expect((await ask('/')).status).toBe(404)
    await server?.close()
    expect((await ask('/readyz', () => Promise.reject(new Error('no')))).status).toBe(500)
    await server?.close()
    const registry = createRegistry('spec')
    registry.metrics = () => Promise.reject(new Error('no'))
    server = await startHealthServer({ host: '127.0.0.1', port: 0, registry, waiting: () => [] })
    expect((await fetch(`http://127.0.0.1:${server.port}/metrics`)).status).toBe(500)
  })
})
