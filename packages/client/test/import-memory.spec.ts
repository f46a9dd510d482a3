import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { HeraldServer } from '../src/herald-server.ts'

const MIB = 1024 * 1024
let server: Server
let received = 0

beforeAll(async () => {
  server = createServer(async (request, response) => {
    for await (const chunk of request) received += chunk.length
    response.end('{"code":200,"data":{"lines":0},"message":null}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

it('an import keeps only a few chunks in memory', async () => {
  const { port } = server.address() as AddressInfo
  const herald = new HeraldServer({ baseUrl: `http://127.0.0.1:${port}`, appId: 'app', token: 't' })
  const before = process.memoryUsage().arrayBuffers
  let most = 0
  async function* chunks() {
    for (let i = 0; i < 320; i++) {
      yield new Uint8Array(MIB).fill(32)
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }
  }
  await herald.importLines(chunks())
  expect(received).toBe(320 * MIB)
  // A full copy would be 320 MiB; garbage that is not collected yet is much less.
  expect(most).toBeLessThan(160 * MIB)
})
