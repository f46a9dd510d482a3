import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { routes } from '../src/routes.ts'
import { OPERATOR_KEY, openTestApi, type TestApi } from './harness.ts'

let api: TestApi
let user: { userId: number; token: string }
let groupId: number

beforeAll(async () => {
  api = await openTestApi()
  user = await api.user('anna')
  groupId = Number((await api.client.createGroup('staff')).group_id)
})
afterAll(() => api.close())

/** The failure of the access checks; undefined if they pass and the body is read. */
async function refusal(
  route: (typeof routes)[number],
  headers: Record<string, string>,
  appId: string | null = api.appId,
): Promise<number | undefined> {
  const { code } = await api.call(route.path, {
    method: route.method.toUpperCase(),
    token: null,
    appId,
    headers,
    // An unknown field, so that an authorised call changes nothing.
    raw: route.method === 'get' || route.stream ? undefined : '{"no such field":1}',
  })
  return [40005, 40101, 40102, 40104, 40301, 40302].includes(code) ? code : undefined
}

const as = (token: string) => ({ 'access-token': token })

const table = routes.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const)

/** Who may make which call is in authorisation-matrix.spec.ts, independently of the routes. */
describe.each(table)('%s', (_name, route) => {
  it('needs app_id, unless it is an operator’s call', async () => {
    const isOperators = route.access === 'operator'
    const key = isOperators ? { authorization: `Bearer ${OPERATOR_KEY}` } : as(user.token)
    expect(await refusal(route, key, null)).toBe(isOperators ? undefined : 40005)
    expect(await refusal(route, { ...key, app_id: '  ' }, null)).toBe(isOperators ? undefined : 40005)
    expect(await refusal(route, { ...key, app_id: 'unknown' }, null)).toBe(isOperators ? undefined : 40104)
  })

  if (route.access === 'operator') return

  it('refuses an invalid token, unless no token is needed', async () => {
    const { access } = route
    expect(await refusal(route, as('x.y.z'))).toBe(access === 'public' ? undefined : 40102)
    expect(await refusal(route, as('  '))).toBe(['public', 'holder'].includes(access) ? undefined : 40101)
  })

  it('answers 40401 for an unknown user or group, and 40002 for a header that is not a number', async () => {
    for (const header of ['user_id', 'group_id']) {
      const call = (value: string) =>
        api.call(route.path, {
          method: route.method.toUpperCase(),
          headers: { [header]: value },
          raw: route.method === 'get' || route.stream ? undefined : '{}',
        })
      expect((await call('9007199254740993')).code).toBe(40401)
      expect((await call('9007199254740993')).message).toContain('9007199254740993')
      expect((await call('abc')).code).toBe(40002)
      expect((await call('9223372036854775808')).code).toBe(40002)
    }
  })
})

describe('the operator key', () => {
  it('must be right', async () => {
    for (const authorization of ['Bearer wrong', `Basic ${OPERATOR_KEY}`, `Bearer ${OPERATOR_KEY}x`]) {
      const { code } = await api.call('/admin/app/list', {
        token: null,
        appId: null,
        headers: { authorization },
      })
      expect([40101, 40102]).toContain(code)
    }
  })
})

describe('one tenant', () => {
  it('finds a user by name', async () => {
    const anna = await api.user('named-anna')
    await api.user('named-anna-maria')
    const found = await api.client.users({ username: 'named-anna' })
    expect(found.list.map(({ user_id }) => user_id)).toEqual([anna.userId])
    expect((await api.client.users({ username: 'nobody' })).list).toEqual([])
  })

  it('has no access to another', async () => {
    const anna = await api.user('tenant-anna', { guid: 'tenant-guid' })
    const { task_id } = await api.client.notify({ audience: 'all', message: { title: 'x' } })
    const foreign = await api.createApplication('foreign')
    const call = (path: string, body: object) =>
      api.call(path, { appId: foreign.appId, token: foreign.token, body })
    expect((await call('/push/task/detail', { list: [task_id] })).data).toEqual([])
    for (const verb of ['cancel', 'pause', 'resume', 'failures'])
      expect((await call(`/push/task/${verb}`, { task_id })).code).toBe(40401)
    expect((await call('/push/task/list', {})).data.list).toEqual([])
    expect((await call('/admin/user/list', {})).data.list).toEqual([])
    expect((await call('/admin/user/list', { username: 'tenant-anna' })).data.list).toEqual([])
    expect((await call('/admin/user/remove', { user_id: anna.userId })).code).toBe(40401)
    expect((await call('/admin/user/password', { user_id: anna.userId, password: 'x-password' })).code).toBe(
      40401,
    )
    expect((await call('/admin/group/member/list', { group_id: groupId })).code).toBe(40401)
    expect((await call('/admin/group/member/add', { group_id: groupId, user_ids: [anna.userId] })).code).toBe(
      40401,
    )
    expect((await call('/admin/group/remove', { group_id: groupId })).code).toBe(40401)
    for (const filter of [
      {},
      { device_guid: 'tenant-guid' },
      { token: anna.pushToken },
      { user_id: anna.userId },
    ])
      expect((await call('/admin/device/list', filter)).data.list).toEqual([])
    expect((await call('/push/explain', { push_token: anna.pushToken, message: { title: 'x' } })).code).toBe(
      40401,
    )
    const holder = (path: string, body: object) =>
      api.call(path, { appId: foreign.appId, token: null, body: { push_token: anna.pushToken, ...body } })
    expect((await holder('/user/token/bind', { provider: 7, device_token: 'a:b' })).code).toBe(40401)
    expect((await holder('/push/receipt', { list: [{ task_id, event: 'received' }] })).code).toBe(40401)
    const acting = { user_id: String(anna.userId) }
    expect(
      (
        await api.call('/user/device/list', {
          appId: foreign.appId,
          token: foreign.token,
          headers: acting,
          body: {},
        })
      ).code,
    ).toBe(40401)
    const password = 'tenant-anna-password'
    for (const [path, login] of [
      ['/token/id', { user_id: anna.userId, password }],
      ['/token/user', { name: 'tenant-anna', password }],
      ['/token/login', { login_name: 'tenant-anna', password }],
      ['/token/admin', { app_secret: api.appSecret }],
    ] as const) {
      expect((await api.call(path, { token: null, body: login })).code).toBe(200)
      const answer = await api.call(path, { appId: foreign.appId, token: null, body: login })
      expect([path, answer.code]).toEqual([path, 40103])
    }
    const own = await call('/admin/group', { name: 'own' })
    await call('/admin/group/member/add', { group_id: own.data.group_id, user_ids: [anna.userId] })
    expect((await call('/admin/group/member/list', { group_id: own.data.group_id })).data.list).toEqual([])
  })
})

describe('an audience', () => {
  /** Each kind of audience, also with more values than one query reads. */
  const waysTo = (devices: { pushToken: string; userId: number }[]) => {
    const others = (name: string) => Array.from({ length: 6 }, (_, i) => `${name}-${i}`)
    const tokens = devices.map(({ pushToken }) => pushToken)
    const users = devices.map(({ userId }) => userId)
    return [
      'all',
      { tag: ['audience-tag'] },
      { alias: ['audience-alias'] },
      { alias: ['audience-alias', ...others('alias')] },
      { push_token: tokens },
      { push_token: [...tokens, ...others('token')] },
      { user_id: users },
      { user_id: [...users, 1, 2, 3, 4, 5, 6] },
    ]
  }
  const known = async (name: string) => {
    const made = await api.user(name, { guid: name })
    const body = { push_token: made.pushToken }
    await api.call('/user/push/tag', { token: made.token, body: { ...body, tags: ['audience-tag'] } })
    await api.call('/user/push/alias', { token: made.token, body: { ...body, alias: 'audience-alias' } })
    return made
  }
  const targets = async (
    audience: unknown,
    caller: { appId?: string; token?: string; headers?: Record<string, string> },
  ) => {
    const body = { audience, setting: { distribution_strategy: 'nativepush_only' }, message: { title: 'x' } }
    const { data } = await api.call('/push/notify', { ...caller, body })
    const { rows } = await api.context.db.pool.query<{ guid: string }>(
      'SELECT d.guid FROM inbox i JOIN device d ON d.id = i.device_id WHERE i.task_id = $1 ORDER BY 1',
      [data.task_id],
    )
    return rows.map(({ guid }) => guid)
  }

  it('of one tenant contains no device of another, for every kind', async () => {
    const mine = await known('audience-victim')
    const foreign = await api.createApplication('reaching')
    const caller = { appId: foreign.appId, token: foreign.token }
    for (const audience of waysTo([mine]))
      expect([audience, await targets(audience, caller)]).toEqual([audience, []])
  })

  it('of a group contains only its members, for every kind', async () => {
    const [member, outsider] = [await known('audience-member'), await known('audience-outsider')]
    const { group_id } = await api.client.createGroup('audience')
    await api.client.addMembers(Number(group_id), [member.userId])
    const caller = { headers: { group_id: String(group_id) } }
    for (const audience of waysTo([member, outsider]))
      expect([audience, await targets(audience, caller)]).toEqual([audience, ['audience-member']])
  })
})
