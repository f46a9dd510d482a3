import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { freePort, until } from '@herald/testkit'
import { afterEach, expect, it } from '@jest/globals'
import { type Listening, listen } from '../src/http/listen.ts'

const host = '127.0.0.1'
let listening: Listening
let sockets: Socket[]
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await listening.close()
})

const openMany = (count: number) => {
  sockets = Array.from({ length: count }, () => connect(listening.port, host).on('error', () => {}))
}

it('accepts many connections per turn of the event loop, so that one caller does not delay the others', async () => {
  const server = createServer()
  listening = await listen(server, { port: 0, host, maxConnections: 1000 })
  let accepted = 0
  let turns = 0
  server.on('connection', () => accepted++)
  openMany(160)
  while (accepted < 160) {
    await new Promise((resolve) => setImmediate(resolve))
    // Turns in which a connection waits; the others are those in which the kernel makes them.
    turns++
    if (accepted === 0) turns = 0
  }
  // With one socket it would be at least 160.
  expect(turns).toBeLessThan(100)
})

it('answers on all of its sockets', async () => {
  const server = createServer((_, response) => response.end('well'))
  listening = await listen(server, { port: 0, host, maxConnections: 1000 })
  sockets = []
  const answers = await Promise.all(
    Array.from({ length: 50 }, async () => (await fetch(`http://${host}:${listening.port}`)).text()),
  )
  expect(answers).toEqual(Array(50).fill('well'))
  server.closeAllConnections()
})

it('limits the connections of all sockets together', async () => {
  const server = createServer()
  listening = await listen(server, { port: 0, host, maxConnections: 20 })
  openMany(60)
  const closed = () => sockets.filter((socket) => socket.closed).length
  for (const socket of sockets) socket.resume()
  await until(() => closed() === 40, { what: 'those above the limit to be closed' })
})

it('refuses a port that another program has, also one that shares it', async () => {
  sockets = []
  const port = await freePort()
  listening = await listen(createServer(), { port, host, maxConnections: 10 })
  await expect(listen(createServer(), { port, host, maxConnections: 10 })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  })
})
