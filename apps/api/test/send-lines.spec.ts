import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type Server } from 'node:http'
import { closeServer, listen, until } from '@herald/testkit'
import { afterEach, describe, expect, it } from '@jest/globals'
import { sendLines } from '../src/http/send-lines.ts'

let server: Server
let limit: AbortController
let isEnded: boolean

async function* linesOf(parts: number): AsyncGenerator<string, void> {
  try {
    for (let n = 0; n < parts; n++) yield `${'x'.repeat(100_000)}\n`
  } finally {
    isEnded = true
  }
}

async function request(parts: number): Promise<IncomingMessage> {
  limit = new AbortController()
  isEnded = false
  server = createServer((_, response) => void sendLines(response, linesOf(parts), limit.signal))
  const [response] = await once(get(`http://127.0.0.1:${await listen(server)}`), 'response')
  return response
}
afterEach(() => closeServer(server))

describe('a response of lines', () => {
  it('is cut when the limit is reached, although the caller still reads', async () => {
    const response = await request(Number.POSITIVE_INFINITY)
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    await until(async () => bytes > 1_000_000)
    expect(isEnded).toBe(false)
    const failed = once(response, 'error')
    limit.abort()
    await until(async () => isEnded)
    expect(await failed).toMatchObject([{ code: 'ECONNRESET' }])
  })

  it('is cut when the limit is reached while it waits for the caller', async () => {
    const response = await request(Number.POSITIVE_INFINITY)
    limit.abort()
    await until(async () => isEnded)
    response.destroy()
  })

  it('is complete if it ends before', async () => {
    const response = await request(3)
    let bytes = 0
    for await (const chunk of response) bytes += chunk.length
    limit.abort()
    expect([bytes, response.complete, isEnded]).toEqual([300_003, true, true])
  })
})
