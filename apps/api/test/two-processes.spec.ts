import { HeraldServer } from '@herald/client'
import { freePort, type RunningProcess, startApp, until } from '@herald/testkit'
import { type TestDatabase, testDatabase } from '@herald/testkit/database'
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

async function post<Data>(
  url: string,
  path: string,
  body: object,
  headers: Record<string, string>,
): Promise<{ code: number; data: Data; cookie: string }> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const answer = (await response.json()) as { code: number; data: Data }
  return { ...answer, cookie: (response.headers.get('set-cookie') ?? '').split(';')[0]! }
}
const operator = { authorization: `Bearer ${operatorKey}` }
const addApplication = async (name: string) =>
  (await post<typeof app>(processes[0]!.url, '/admin/app', { name }, operator)).data

beforeAll(async () => {
  database = await testDatabase()
  processes = await Promise.all([start(), start()])
  app = await addApplication('shared')
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

  it('accept a token of the other that is newer than what they have kept', async () => {
    const { token } = await servers[0]!.login('anna', 'right-password')
    const [here, there] = processes.map(
      ({ url }) => new HeraldServer({ baseUrl: url, appId: app.app_id, token }),
    )
    await there!.call('POST', '/user/device/list', {})
    await here!.revokeTokens()
    const again = await servers[0]!.login('anna', 'right-password')
    const renewed = new HeraldServer({
      baseUrl: processes[1]!.url,
      appId: app.app_id,
      token: again.token,
    })
    expect(await renewed.call('POST', '/user/device/list', {})).toEqual({ list: [], next: null })
  })

  it('sign admins in right after the other has revoked their tokens or replaced the secret', async () => {
    const [here, there] = processes.map(({ url }) => url) as [string, string]
    const { app_id, app_secret } = await addApplication('revoking')
    const logIn = async (url: string) =>
      (await post<{ token: string }>(url, '/token/admin', { app_secret }, { app_id })).data.token
    const as = (url: string, token: string, path: string) =>
      post<object>(url, path, {}, { app_id, 'access-token': token })
    const codesOf = async (token: string) => [
      (await as(there, token, '/push/task/list')).code,
      (await as(here, token, '/push/task/list')).code,
    ]
    const first = await logIn(here)
    expect(await codesOf(first)).toEqual([200, 200])
    await as(here, first, '/token/revoke')
    const second = await logIn(here)
    expect(await codesOf(second)).toEqual([200, 200])
    await as(here, second, '/token/revoke')
    expect(await codesOf(await logIn(there))).toEqual([200, 200])

    const rotated = await post<typeof app>(here, '/admin/app/secret', { app_id }, operator)
    const { code, cookie } = await post<object>(there, '/console/session', rotated.data, {})
    expect(code).toBe(200)
    const headers = { cookie, 'x-herald-console': '1' }
    for (const url of [there, here])
      expect((await fetch(`${url}/console/session`, { headers })).status).toBe(200)
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
