import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createOperatorKeyCheck } from '../src/auth/operator-key.ts'
import { routes } from '../src/routes.ts'
import { freeLimits, OPERATOR_KEY, openTestApi, type TestApi } from './harness.ts'

/** Rules that hold for all calls. */
let api: TestApi
let anna: { userId: number; token: string; pushToken: string }
let groupId: string
beforeAll(async () => {
  api = await openTestApi({ overrides: { limits: freeLimits() } })
  anna = await api.user('anna', { guid: 'annas' })
  groupId = String((await api.client.createGroup('everybody')).group_id)
})
afterAll(() => api.close())

/** A call with these headers alone. */
const send = (path: string, headers: Record<string, string>, body: object = {}) =>
  api.call(path, { appId: null, token: null, headers, body })

/** fetch would join the values of a header. */
function sendRaw(path: string, headers: Record<string, string | string[]>) {
  return new Promise<{ code: number; message: string }>((resolve, reject) => {
    const sent = request(`${api.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
    })
    sent.on('error', reject).on('response', async (response) => resolve((await json(response)) as never))
    sent.end('{}')
  })
}

describe('headers without underscores', () => {
  it('mean the same as those with them', async () => {
    const bearer = { 'x-app-id': api.appId, authorization: `Bearer ${api.adminToken}` }
    expect((await send('/push/task/list', bearer)).code).toBe(200)
    expect(
      (await send('/push/task/list', { ...bearer, authorization: `bearer  ${api.adminToken}` })).code,
    ).toBe(200)
    expect(
      (await send('/user/device/list', { ...bearer, 'x-user-id': String(anna.userId) })).data.list,
    ).toHaveLength(1)
    expect(
      (await send('/user/device/list', { ...bearer, authorization: `Bearer ${anna.token}` })).data.list,
    ).toHaveLength(1)
    expect((await send('/admin/group/list', { ...bearer, 'x-group-id': groupId })).code).toBe(40301)
    expect((await send('/admin/user/list', { ...bearer, 'x-group-id': groupId })).data.list).toEqual([])
  })

  it('are checked in the same way', async () => {
    const app = { 'x-app-id': api.appId }
    expect((await send('/push/task/list', {})).code).toBe(40005)
    expect((await send('/push/task/list', { 'x-app-id': 'unknown' })).code).toBe(40104)
    expect((await send('/push/task/list', app)).code).toBe(40101)
    for (const authorization of ['Basic YTpi', 'Bearer', `Token ${api.adminToken}`])
      expect((await send('/push/task/list', { ...app, authorization })).code).toBe(40101)
    for (const token of ['wrong', OPERATOR_KEY, `${api.adminToken}x`])
      expect((await send('/push/task/list', { ...app, authorization: `Bearer ${token}` })).code).toBe(40102)
    const admin = { ...app, authorization: `Bearer ${api.adminToken}` }
    expect((await send('/user/device/list', { ...admin, 'x-user-id': 'anna' })).code).toBe(40002)
    expect((await send('/user/device/list', { ...admin, 'x-user-id': '987654321' })).code).toBe(40401)
  })

  it('may be sent together with the others, but not with another value', async () => {
    const both = {
      app_id: api.appId,
      'x-app-id': api.appId,
      'access-token': api.adminToken,
      authorization: `Bearer ${api.adminToken}`,
      user_id: String(anna.userId),
      'x-user-id': String(anna.userId),
    }
    expect((await send('/user/device/list', both)).code).toBe(200)
    for (const [name, value, message] of [
      ['x-app-id', 'other', 'The headers app_id and x-app-id have different values.'],
      [
        'authorization',
        `Bearer ${anna.token}`,
        'The headers access-token and authorization have different values.',
      ],
      ['x-user-id', '1', 'The headers user_id and x-user-id have different values.'],
    ] as const) {
      const { code, message: said } = await send('/user/device/list', { ...both, [name]: value })
      expect([code, said]).toEqual([40002, message])
    }
    const group = { ...both, user_id: '', 'x-user-id': '', group_id: groupId, 'x-group-id': '1' }
    expect((await send('/admin/user/list', group)).code).toBe(40002)
    // Blank ones are absent, and a proxy may have a scheme of its own.
    expect(
      (await send('/push/task/list', { ...both, user_id: '', 'x-user-id': '', authorization: 'Basic YTpi' }))
        .code,
    ).toBe(200)
  })

  it('have one value, also if they are sent twice', async () => {
    const named = { app_id: api.appId, 'access-token': api.adminToken }
    const one = (name: string, ...values: string[]) =>
      sendRaw('/push/task/list', { ...named, [name]: values })
    expect((await one('app_id', api.appId, api.appId)).code).toBe(200)
    expect((await one('access-token', api.adminToken, '', api.adminToken)).code).toBe(200)
    for (const [name, ...values] of [
      ['app_id', api.appId, 'other'],
      ['x-app-id', api.appId, 'other'],
      ['access-token', api.adminToken, anna.token],
      ['authorization', `Bearer ${api.adminToken}`, `Bearer ${anna.token}`],
      ['x-user-id', String(anna.userId), '1'],
    ] as const)
      expect(await one(name, ...values)).toMatchObject({
        code: 40002,
        message: `The header ${name} is sent more than once, with different values.`,
      })
  })

  it('do not make an access token a guess of the operator key', async () => {
    for (let i = 0; i < 12; i++)
      expect(
        (await send('/admin/app', { authorization: `Bearer ${api.adminToken}` }, { name: 'x' })).code,
      ).toBe(40301)
    for (let i = 0; i < 12; i++)
      expect(
        (
          await api.call('/console/overview', {
            appId: api.appId,
            token: null,
            headers: { authorization: `Bearer ${api.adminToken}` },
          })
        ).code,
      ).toBe(200)
    const operator = { authorization: `Bearer ${OPERATOR_KEY}` }
    expect((await api.call('/admin/app/list', { appId: null, token: null, headers: operator })).code).toBe(
      200,
    )
  })
})

describe('an access token that is not valid', () => {
  const path = '/admin/app/secret'
  const bearer = (token: string) => ({ app_id: api.appId, authorization: `Bearer ${token}` })
  const refusals = async () => {
    const { rows } = await api.context.db.pool.query(
      `SELECT coalesce(sum((detail ->> 'count')::int), 0)::int AS n FROM audit WHERE action = 'operator.refused'`,
    )
    return rows[0].n
  }

  it('is refused as a bearer token like any other, and is no guess of the operator key', async () => {
    const claims = { app: api.appId, role: 'admin' as const, subject: api.appId, version: 0 }
    const expired = api.deps.sessions.tokens.issue(claims, Date.now() - 100 * 86_400_000).token
    const before = await refusals()
    for (let i = 0; i < 12; i++)
      for (const token of [expired, `${api.adminToken}x`, `${i}.b.c`]) {
        expect((await send(path, bearer(token))).code).toBe(40102)
        expect((await send('/admin/app', bearer(token), { name: 'x' })).code).toBe(40301)
      }
    expect(await send(path, { ...bearer(expired), 'access-token': api.adminToken })).toMatchObject({
      code: 40002,
      message: 'The headers access-token and authorization have different values.',
    })
    expect((await send(path, { ...bearer(expired), 'access-token': expired })).code).toBe(40102)
    expect(await refusals()).toBe(before)
    const operator = { authorization: `Bearer ${OPERATOR_KEY}` }
    expect((await api.call('/admin/app/list', { appId: null, token: null, headers: operator })).code).toBe(
      200,
    )
  })

  it('counts as a guess if the operator key looks like a token', async () => {
    const { operatorKey, checkOperatorKey } = api.deps
    const key = 'an.operator.key'
    const before = await refusals()
    try {
      api.deps.operatorKey = key
      api.deps.checkOperatorKey = createOperatorKeyCheck({ db: api.deps.db, operatorKey: key })
      for (const wrong of ['an.operator.kex', 'guess'])
        expect((await send(path, bearer(wrong))).code).toBe(40102)
      expect(await refusals()).toBe(before + 2)
      expect((await send('/admin/app', bearer(api.adminToken), { name: 'x' })).code).toBe(40301)
      const headers = { authorization: `Bearer ${key}` }
      expect((await api.call('/admin/app/list', { appId: null, token: null, headers })).code).toBe(200)
    } finally {
      Object.assign(api.deps, { operatorKey, checkOperatorKey })
      await api.deps.db.pool.query('DELETE FROM login_failure')
    }
  })
})

describe('a header that a call does not honour', () => {
  it.each([
    ['/push/register', { device_guid: 'new-one' }],
    ['/token/admin', { app_secret: 'x' }],
    ['/token/exchange', { id_token: 'x' }],
  ])('is refused by %s', async (path, body) => {
    for (const headers of [
      { user_id: String(anna.userId) },
      { group_id: groupId },
      { 'x-group-id': groupId },
    ])
      expect([headers, (await api.call(path, { headers: headers as never, body })).code]).toEqual([
        headers,
        40002,
      ])
    const { rows } = await api.context.db.pool.query(`SELECT 1 FROM device WHERE guid = 'new-one'`)
    expect(rows).toEqual([])
  })

  it('is refused by the operator’s calls', async () => {
    for (const name of ['user_id', 'group_id']) {
      const headers = { authorization: `Bearer ${OPERATOR_KEY}`, [name]: '1' }
      expect((await api.call('/admin/app/list', { token: null, headers })).code).toBe(40002)
    }
  })
})

describe('every DELETE', () => {
  it('has a twin that is a POST with the same body', () => {
    const deletes = routes.filter(({ method }) => method === 'delete')
    expect(deletes.length).toBeGreaterThan(2)
    for (const { path, input, access } of deletes)
      expect(
        routes.find((route) => route.method === 'post' && route.path === `${path}/remove`),
      ).toMatchObject({
        input,
        access,
      })
    const all = routes.map(({ method, path }) => `${method} ${path}`)
    expect(new Set(all).size).toBe(all.length)
  })

  it('does the same as its twin', async () => {
    const call = (path: string, body: object) =>
      api.call(path, { token: anna.token, body: { push_token: anna.pushToken, ...body } })
    await call('/user/push/tag', { tags: ['a', 'b', 'c'] })
    expect((await call('/user/push/tag/remove', { tags: ['b'] })).data).toEqual({ tags: ['a', 'c'] })
    expect((await call('/user/push/tag/all/remove', {})).data).toEqual({ tags: [] })
    await call('/user/push/alias', { alias: 'annie' })
    expect((await call('/user/push/alias/remove', { alias: 'another' })).data).toEqual({ alias: 'annie' })
    expect((await call('/user/push/alias/remove', {})).data).toEqual({ alias: null })
    expect((await call('/user/push/alias/remove', { alais: 'x' })).code).toBe(40001)
  })
})

describe('a provider', () => {
  it.each([
    [2, 'huawei'],
    ['huawei', 'huawei'],
    ['flyme', 'flyme'],
    ['meizu', 'flyme'],
  ])('is read as %j, and answered by number and channel', async (provider, channel) => {
    const bind = { push_token: anna.pushToken, provider, device_token: `tokenOf${provider}`.padEnd(32, '0') }
    const number = channel === 'flyme' ? 4 : 2
    expect((await api.call('/user/token/bind', { token: anna.token, body: bind })).data).toEqual({
      provider: number,
      channel,
      environment: 1,
    })
    const unbind = { push_token: anna.pushToken, provider }
    expect((await api.call('/user/token/unbind', { token: anna.token, body: unbind })).data).toEqual({
      removed: true,
    })
  })

  it('is read by name in certificates, in bodies and in the query', async () => {
    const saved = await api.call('/admin/push/certificate', {
      method: 'PUT',
      body: { provider: 'huawei', app_id: '100', app_secret: 'secret' },
    })
    expect(saved.data).toMatchObject({ provider: 2, channel: 'huawei' })
    for (const provider of ['2', 'huawei'])
      expect((await api.call(`/push/certificate?provider=${provider}`)).data).toMatchObject({ app_id: '100' })
    expect((await api.call('/admin/push/certificate/remove', { body: { provider: 'huawei' } })).code).toBe(
      200,
    )
  })

  it.each([0, 9, 1.5, '2', '', 'Huawei', 'nativepush', 'native', 'constructor', true, [2], { a: 1 }])(
    'is not %j',
    async (provider) => {
      const body = { push_token: anna.pushToken, provider }
      expect((await api.call('/user/token/unbind', { token: anna.token, body })).code).toBe(40002)
    },
  )

  it.each(['0', '9', '-1', '2.0', '', 'nativepush', 'ups'])('is not %j in a query', async (provider) => {
    expect((await api.call(`/push/certificate?provider=${provider}`)).code).toBe(40002)
  })
})

describe('a repeated request_id', () => {
  it('is answered with the first task and `repeated`, whatever else the request says', async () => {
    const notify = (title: string) =>
      api.call('/push/notify', {
        body: { audience: 'all', setting: { request_id: 'order-1' }, message: { title } },
      })
    const first = await notify('one')
    expect(first.data).toEqual({ task_id: expect.any(Number) })
    expect((await notify('one')).data).toEqual({ task_id: first.data.task_id, repeated: true })
    expect((await notify('two')).data).toEqual({ task_id: first.data.task_id, repeated: true })
    const together = await Promise.all(
      Array.from({ length: 8 }, () =>
        api.call('/push/notify', {
          body: { audience: 'all', setting: { request_id: 'order-2' }, message: { title: 'x' } },
        }),
      ),
    )
    expect(together.filter(({ data }) => data.repeated === undefined)).toHaveLength(1)
    expect(new Set(together.map(({ data }) => data.task_id)).size).toBe(1)
  })

  it('is looked up before the commit only if a check may fail because time has passed', async () => {
    const { pool } = api.context.db
    const asked: string[] = []
    const query = pool.query
    pool.query = function (this: typeof pool, ...args: unknown[]) {
      asked.push(String((args[0] as { name?: string }).name))
      return Reflect.apply(query, this, args)
    } as typeof pool.query
    try {
      const notify = (request_id: string, message: object) =>
        api.call('/push/notify', { body: { audience: 'all', setting: { request_id }, message } })
      const lookUps = () => asked.splice(0).filter((name) => name === 'find-requests').length
      await notify('fresh-1', { title: 'x' })
      expect(lookUps()).toBe(0)
      const soon = Math.floor(Date.now() / 1000) + 3600
      const first = await notify('fresh-2', { title: 'x', show_end_time: soon })
      expect(lookUps()).toBe(1)
      // The same request, when its time has passed.
      const later = await notify('fresh-2', { title: 'x', show_end_time: 1000 })
      expect(later.data).toEqual({ task_id: first.data.task_id, repeated: true })
      expect((await notify('fresh-3', { title: 'x', show_end_time: 1000 })).code).toBe(40002)
    } finally {
      pool.query = query
    }
  })
})

describe('limits per address', () => {
  it('never stop a call with an admin token, also when it acts as a user', async () => {
    const none = { take: () => 5, giveBack() {} }
    const limited = await openTestApi({
      overrides: {
        limits: {
          login: none,
          register: none,
          address: none,
          caller: none,
          receipts: none,
          refused: none,
          failedLogin: none,
        },
      },
    })
    try {
      const { user_id } = (await limited.call('/admin/user', { body: { username: 'bob', password: 'bob' } }))
        .data
      const asBob = { user_id: String(user_id) }
      const good = { name: 'bob', password: 'bob' }
      for (const headers of [{}, asBob] as Record<string, string>[]) {
        expect((await limited.call('/token/user', { headers, body: good })).code).toBe(200)
        expect((await limited.call('/token/user', { headers, body: { ...good, password: 'x' } })).code).toBe(
          40103,
        )
      }
      expect((await limited.call('/push/register', { body: { device_guid: 'g' } })).code).toBe(200)
      expect((await limited.call('/user/device/list', { headers: asBob, body: {} })).code).toBe(200)
      expect((await limited.call('/token/user', { token: null, body: good })).code).toBe(42901)
      expect((await limited.call('/push/register', { token: null, body: { device_guid: 'h' } })).code).toBe(
        42901,
      )
    } finally {
      await limited.close()
    }
  })
})
