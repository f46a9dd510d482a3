import { HeraldServer } from '@herald/client'
import {
  freePort,
  type RunningProcess,
  startApp,
  type TestDatabase,
  testDatabase,
  until,
} from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const operatorKey = 'operator-key-of-two-processes'
let database: TestDatabase
let processes: { url: string; process: RunningProcess }[]
let app: { app_id: string; app_secret: string }
let servers: HeraldServer[]

async function start() {
  const port = await freePort()
  const process = startApp('apps/api/src/main.ts', {
    DATABASE_URL: database.url,
    HERALD_PORT: String(port),
    HERALD_METRICS_PORT: '0',
    HERALD_MASTER_KEY: 'ab'.repeat(32),
    HERALD_OPERATOR_KEY: operatorKey,
  })
  const url = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${url}/readyz`)).ok)
  return { url, process }
}

beforeAll(async () => {
  database = await testDatabase()
  processes = await Promise.all([start(), start()])
  const response = await fetch(`${processes[0]!.url}/admin/app`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'shared' }),
  })
  app = ((await response.json()) as { data: typeof app }).data
  servers = processes.map(
    ({ url }) => new HeraldServer({ baseUrl: url, appId: app.app_id, appSecret: app.app_secret }),
  )
  await servers[0]!.createUser({ username: 'anna', password: 'right-password' })
})
afterAll(async () => {
  for (const { process } of processes) expect((await process.stop()).code).toBe(0)
  await database.drop()
})

describe('two processes', () => {
  it('verify each other’s tokens, without a configured key', async () => {
    const { token } = await servers[0]!.login('anna', 'right-password')
    const other = new HeraldServer({ baseUrl: processes[1]!.url, appId: app.app_id, token })
    expect(await other.call('POST', '/user/device/list', {})).toEqual({ list: [], next: null })
  })

  it('notice a revocation by the other soon', async () => {
    const { token } = await servers[0]!.login('anna', 'right-password')
    const [here, there] = processes.map(
      ({ url }) => new HeraldServer({ baseUrl: url, appId: app.app_id, token }),
    )
    await there!.call('POST', '/user/device/list', {})
    await here!.revokeTokens()
    await expect(here!.call('POST', '/user/device/list', {})).rejects.toMatchObject({ code: 40102 })
    await until(
      () =>
        there!.call('POST', '/user/device/list', {}).then(
          () => false,
          (error) => error.code === 40102,
        ),
      { what: 'the revocation' },
    )
  })

  it('count failed logins together', async () => {
    const codes: number[] = []
    for (let i = 0; i < 12; i++)
      await servers[i % 2]!.login('nobody', `guess ${i}`).catch((error) => codes.push(error.code))
    expect(codes).toEqual([...Array(10).fill(40103), 42902, 42902])
  })

  it('push a request_id once', async () => {
    const push = (server: HeraldServer) =>
      server.notify({ audience: 'all', setting: { request_id: 'once' }, message: { title: 'x' } })
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => push(servers[i % 2]!)))
    expect(new Set(answers.map(({ task_id }) => task_id)).size).toBe(1)
  })

  it('say on stderr which setting is missing, and exit with 1', async () => {
    const process = startApp('apps/api/src/main.ts', { HERALD_METRICS_PORT: '0' })
    expect((await process.exited).code).toBe(1)
    expect(process.output()).toMatch(/^DATABASE_URL is not set: .*\n$/)
  })
})
