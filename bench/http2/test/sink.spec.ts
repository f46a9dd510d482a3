import { createServer, type Socket } from 'node:net'
import { openPool, type Pool } from '@herald/http2'
import { afterEach, describe, expect, it } from '@jest/globals'
import { DistinctSet, Fingerprint } from '../distinct-set.ts'
import { type SinkCounts, serveSink } from '../sink-connection.ts'
import { deviceToken, registrationToken } from '../workload.ts'

describe('the distinct set', () => {
  it('distinguishes twenty thousand similar values and recognizes them again', () => {
    const set = new DistinctSet()
    const print = new Fingerprint()
    const countNew = () => {
      let added = 0
      for (let index = 0; index < 20_000; index++) {
        print.restart(`/3/device/${deviceToken(index)}`)
        if (set.add(print)) added += 1
      }
      return added
    }
    expect([countNew(), countNew(), set.size]).toEqual([20_000, 0, 20_000])
  })

  it('distinguishes bodies that differ in one byte at any position', () => {
    const set = new DistinctSet()
    const print = new Fingerprint()
    const body = Buffer.alloc(203, 'x')
    for (let at = 0; at < body.length; at++) {
      for (const byte of [0, 1, 255]) {
        print.restart('/v1/projects/bench/messages:send')
        print.add(Buffer.from(body).fill(byte, at, at + 1), 0, body.length)
        set.add(print)
      }
    }
    expect(set.size).toBe(body.length * 3)
  })
})

describe('the sink', () => {
  const closers: (() => Promise<unknown> | unknown)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
  })

  async function start(): Promise<{ counts: SinkCounts; pool: Pool }> {
    const counts: SinkCounts = { requests: 0, distinct: new DistinctSet() }
    const sockets: Socket[] = []
    const server = createServer((socket) => {
      sockets.push(socket)
      serveSink(socket, counts, 100)
    })
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
    const { port } = server.address() as { port: number }
    const pool = openPool({ origin: `http://localhost:${port}` })
    closers.push(() => new Promise((resolve) => server.close(resolve)))
    closers.push(() => sockets.forEach((socket) => void socket.destroy()))
    closers.push(() => pool.close())
    return { counts, pool }
  }

  it('counts requests and distinct devices by path and by body, and responds like the vendor', async () => {
    const { counts, pool } = await start()
    const bodies = new Set<string>()
    const send = (path: string | ((index: number) => string), body: (index: number) => string) =>
      pool.multicast({
        count: 1_000,
        headers: {},
        path,
        body,
        onReply: (_index, reply) => bodies.add(`${reply.status} ${reply.body}`),
        onFailure: (_index, failure) => bodies.add(failure.message),
      })
    await send(
      (index) => `/3/device/${deviceToken(index % 700)}`,
      () => '{}',
    )
    expect([counts.requests, counts.distinct.size]).toEqual([1_000, 700])
    expect([...bodies]).toEqual(['200 '])
    await send('/v1/projects/bench/messages:send', (index) => registrationToken(index % 300))
    expect([counts.requests, counts.distinct.size]).toEqual([2_000, 1_000])
    expect([...bodies][1]).toContain('200 {"name":"projects/bench/messages/')
  })

  it('identifies a device by the token in the body, whatever else the body contains', async () => {
    const { counts, pool } = await start()
    const failures: string[] = []
    await pool.multicast({
      count: 1_000,
      headers: {},
      path: '/v1/projects/bench/messages:send',
      body: (index) =>
        JSON.stringify({ message: { token: registrationToken(index % 300), android: { ttl: `${index}s` } } }),
      onReply: () => {},
      onFailure: (_index, failure) => failures.push(failure.message),
    })
    expect(failures).toEqual([])
    expect([counts.requests, counts.distinct.size]).toEqual([1_000, 300])
  })
})
