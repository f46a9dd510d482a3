import { once } from 'node:events'
import { connect } from 'node:net'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { serveApi } from '../src/serve-api.ts'
import { openTestApi, type TestApi } from './harness.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi()
})
afterAll(() => api.close())

it('a server that is stopped finishes requests in progress, accepts no new ones, and ends', async () => {
  const asked = Promise.withResolvers<void>()
  const committed = Promise.withResolvers<void>()
  const served = await serveApi(api.context, {
    port: 0,
    overrides: {
      sessions: api.deps.sessions,
      acceptor: {
        async accept() {
          asked.resolve()
          await committed.promise
          return { taskId: 4711, fresh: true }
        },
        async close() {},
      },
    },
  })
  const url = `http://127.0.0.1:${served.port}`
  const answer = fetch(`${url}/push/notify`, {
    method: 'POST',
    headers: { app_id: api.appId, 'access-token': api.adminToken, 'content-type': 'application/json' },
    body: JSON.stringify({ audience: 'all', message: { title: 'x' } }),
  })
  await asked.promise
  const stopped = served.stop()
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
  committed.resolve()
  expect(await (await answer).json()).toMatchObject({ code: 200, data: { task_id: 4711 } })
  await stopped
})

it('a client that keeps its connection alive does not delay the end', async () => {
  const served = await serveApi(api.context, { port: 0, overrides: { sessions: api.deps.sessions } })
  const socket = connect(served.port, '127.0.0.1')
  let heard = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    heard += text
  })
  const closed = once(socket, 'close')
  const body = JSON.stringify({ app_secret: 'x' })
  const head = `POST /token/admin HTTP/1.1\r\nhost: x\r\napp_id: ${api.appId}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  socket.write(`GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n${head}`)
  // The answer to the first proves that the second is being read.
  await until(() => heard.includes('200 OK'), { what: 'the first answer' })
  const stopped = served.stop()
  socket.write(body)
  await until(() => heard.includes('"code":40'), { what: 'the second answer' })
  await Promise.all([stopped, closed])
})
