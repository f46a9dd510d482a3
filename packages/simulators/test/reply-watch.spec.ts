import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { closeServer, listen } from '@herald/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Acceptance } from '../src/frame/ledger.ts'
import { watchReplies } from '../src/frame/reply-watch.ts'

let server: Server
let port: number
let unheard: string[]
let nextRequest: PromiseWithResolvers<() => ServerResponse>
let closed: PromiseWithResolvers<void>

beforeEach(async () => {
  unheard = []
  nextRequest = Promise.withResolvers()
  closed = Promise.withResolvers()
  server = createServer((request, response) => {
    replies.noteHeard(request.socket)
    const token = request.url!
    nextRequest.resolve(() => {
      response.end('reply')
      replies.noteWritten(request.socket, [{ token } as Acceptance])
      return response
    })
    nextRequest = Promise.withResolvers()
  })
  const replies = watchReplies(server, (lost) => unheard.push(...lost.map(({ token }) => token)))
  server.on('connection', (socket) => socket.once('close', () => closed.resolve()))
  port = await listen(server)
})
afterEach(() => closeServer(server))

const open = () => connect(port, '127.0.0.1')
/** Sends a request and returns what replies to it. */
function ask(socket: Socket, path: string): Promise<() => ServerResponse> {
  const { promise } = nextRequest
  socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
  return promise
}

describe('a reply that was written', () => {
  it('is heard if the client has read it', async () => {
    const socket = open()
    const reply = await ask(socket, '/1')
    reply()
    await once(socket, 'data')
    socket.destroy()
    await closed.promise
    expect(unheard).toEqual([])
  })

  it('is unheard if the client closes before it reads it', async () => {
    const socket = open().pause()
    const reply = await ask(socket, '/1')
    await once(reply(), 'finish')
    socket.destroy()
    await closed.promise
    expect(unheard).toEqual(['/1'])
  })

  it('is unheard if the client had closed, although the server had not noticed it', async () => {
    const socket = open()
    const reply = await ask(socket, '/1')
    socket.destroy()
    reply()
    await closed.promise
    expect(unheard).toEqual(['/1'])
  })

  it('is heard if another request follows, even if the connection is reset then', async () => {
    const socket = open()
    const first = await ask(socket, '/1')
    first()
    await once(socket, 'data')
    await ask(socket, '/2')
    socket.resetAndDestroy()
    await closed.promise
    expect(unheard).toEqual([])
  })
})
