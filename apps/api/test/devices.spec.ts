import { tokenBuckets } from '@herald/async'
import { until } from '@herald/testkit'
import { addApplication } from '@herald/testkit/sample-tenant'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createPasswords } from '../src/auth/passwords.ts'
import { receiptLimit } from '../src/receipts/receipt-limit.ts'
import { type Answer, countingPasswords, openTestApi, type TestApi } from './harness.ts'

let api: TestApi
let anna: { userId: number; token: string; pushToken: string }
let bert: { userId: number; token: string; pushToken: string }

beforeAll(async () => {
  api = await openTestApi({
    overrides: { passwords: createPasswords({ derive: countingPasswords().derive }) },
  })
  anna = await api.user('anna', { guid: 'anna-phone' })
  bert = await api.user('bert', { guid: 'bert-phone' })
})
afterAll(() => api.close())

const as = (who: { token: string } | null, path: string, body: object, method = 'POST') =>
  api.call(path, { token: who?.token ?? null, body, method })
const bindings = async (guid: string) =>
  (await api.client.devices({ device_guid: guid })).list[0]!.bindings.map(({ provider, device_token }) => [
    provider,
    device_token,
  ])

describe('registering without a user', () => {
  it('returns the push token again only to a caller that knows it', async () => {
    const register = (more: object) =>
      as(null, '/push/register', { device_guid: 'kiosk', platform: 'android', ...more })
    const first = await register({})
    expect(await register({})).toMatchObject({ status: 409, code: 40901, data: null })
    expect((await register({ push_token: 'another' })).code).toBe(40901)
    expect((await register({ push_token: first.data.push_token })).data).toEqual(first.data)
    expect((await api.client.devices({ device_guid: 'kiosk' })).list).toMatchObject([
      { user_id: null, platform: 'android', push_token: first.data.push_token },
    ])
  })

  it('is refused for a guid with an owner, except for the owner', async () => {
    expect((await as(null, '/push/register', { device_guid: 'anna-phone' })).code).toBe(40901)
    expect((await as(bert, '/push/register', { device_guid: 'anna-phone' })).code).toBe(40901)
    expect((await as(anna, '/push/register', { device_guid: 'anna-phone' })).data.push_token).toBe(
      anna.pushToken,
    )
  })

  it('is off until the application allows it, and limited per day', async () => {
    const appId = await addApplication(api.context.db, 'careful')
    const admin = api.deps.sessions.tokens.issue({
      app: appId,
      role: 'admin',
      subject: appId,
      version: 0,
    }).token
    const register = (device_guid: string, more = {}) =>
      api.call('/push/register', { appId, token: null, body: { device_guid, ...more } })
    const settings = (body?: object) =>
      api.call('/admin/app/settings', { appId, token: admin, method: body ? 'PUT' : 'GET', body })
    const rest = {
      default_strategy: 'combined',
      default_ttl: 86_400,
      caps: { per_device_per_day: null },
    }
    expect((await settings()).data).toEqual({ ...rest, register: false, register_per_day: 10_000 })
    expect((await register('a')).code).toBe(40301)

    expect((await settings({ register: true, register_per_day: 2 })).data).toEqual({
      ...rest,
      register: true,
      register_per_day: 2,
    })
    const { push_token } = (await register('a')).data
    const others = await Promise.all(['b', 'c', 'd'].map((guid) => register(guid)))
    expect(others.map(({ code }) => code).sort()).toEqual([200, 42901, 42901])
    const limited = others.find(({ code }) => code === 42901)!
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await register('a', { push_token })).code).toBe(200)

    await api.context.db.pool.query('UPDATE application_setting SET registered_on = registered_on - 1')
    expect((await register('e')).code).toBe(200)
    expect((await settings({ register_per_day: 0 })).data).toEqual({
      ...rest,
      register: true,
      register_per_day: 0,
    })
    expect((await register('f')).code).toBe(42901)
    await settings({ register: false })
    expect((await register('a', { push_token })).code).toBe(40301)
    expect((await settings({ no_such_setting: 1 })).code).toBe(40001)
    expect((await settings({ register: 'yes' })).code).toBe(40002)
    expect((await settings({ register_per_day: -1 })).code).toBe(40002)
  })

  it('can be disabled', async () => {
    const closed = await openTestApi({ env: { HERALD_REGISTER: 'off' } })
    try {
      expect((await closed.call('/push/register', { token: null, body: { device_guid: 'x' } })).code).toBe(
        40301,
      )
    } finally {
      await closed.close()
    }
  })

  it('checks its fields', async () => {
    const cases: [object, number][] = [
      [{}, 40002],
      [{ device_guid: '' }, 40002],
      [{ device_guid: 5 }, 40002],
      [{ device_guid: 'a\nb' }, 40002],
      [{ device_guid: 'x'.repeat(256) }, 40002],
      [{ device_guid: 'x', platform: 'windows' }, 40002],
      [{ device_guid: 'x', os: 'ios' }, 40001],
    ]
    for (const [body, code] of cases) expect((await as(null, '/push/register', body)).code).toBe(code)
  })
})

describe('binding a vendor token', () => {
  const bind = (who: { token: string } | null, body: object) => as(who, '/user/token/bind', body)

  it('works for its user and for a caller that knows the push token', async () => {
    await bind(anna, { push_token: anna.pushToken, provider: 2, device_token: 'huawei-token-1' })
    await bind(null, { push_token: anna.pushToken, provider: 7, device_token: 'fcm:token-1', environment: 0 })
    expect(await bindings('anna-phone')).toEqual([
      [7, 'fcm:token-1'],
      [2, 'huawei-token-1'],
    ])
    expect(
      (await bind(bert, { push_token: anna.pushToken, provider: 2, device_token: 'x-token' })).code,
    ).toBe(40401)
    expect((await bind(null, { push_token: 'unknown', provider: 2, device_token: 'x-token' })).code).toBe(
      40401,
    )
  })

  it('moves a token from another device, and remembers the former one', async () => {
    await bind(bert, { push_token: bert.pushToken, provider: 2, device_token: 'huawei-token-1' })
    expect(await bindings('anna-phone')).toEqual([[7, 'fcm:token-1']])
    expect(await bindings('bert-phone')).toEqual([[2, 'huawei-token-1']])
    const { rows } = await api.context.db.pool.query(
      `SELECT reason FROM retired_token WHERE token = 'huawei-token-1'`,
    )
    expect(rows).toEqual([{ reason: 'moved' }])
  })

  it('stores the region that the token tells, otherwise the one that the call names', async () => {
    const { push_token } = (await as(null, '/push/register', { device_guid: 'region-phone' })).data
    const region = async (provider: number, device_token: string, named?: string) => {
      const { code, message } = await bind(null, { push_token, provider, device_token, region: named })
      if (code !== 200) return message
      const [device] = (await api.client.devices({ device_guid: 'region-phone' })).list
      return device!.bindings.find((binding) => binding.provider === provider)!.region
    }
    expect(await region(2, 'huawei-overseas', 'intl')).toBe('intl')
    expect(await region(2, 'huawei-overseas', 'cn')).toBe('cn')
    expect(await region(2, 'huawei-overseas')).toBeNull()
    expect(await region(6, `realme_IN_${'0a'.repeat(16)}`, 'cn')).toBe('intl')
    expect(await region(6, `OPPO_CN_${'0a'.repeat(16)}`, 'intl')).toBeNull()
    expect(await region(7, 'fcm:overseas', 'intl')).toBe('region is not used for FCM, which has no regions.')
  })

  it('uses the given platform, otherwise ios for APNs and android for others', async () => {
    const apns = 'ab'.repeat(32)
    const platform = async (guid: string) =>
      (await api.client.devices({ device_guid: guid })).list[0]!.platform
    const phone = async (guid: string) =>
      (await as(null, '/push/register', { device_guid: guid })).data.push_token as string
    const iphone = await phone('platform-1')
    await bind(null, { push_token: iphone, provider: 1, device_token: apns })
    expect(await platform('platform-1')).toBe('ios')
    await bind(null, { push_token: iphone, provider: 7, device_token: 'fcm:on-ios' })
    expect(await platform('platform-1')).toBe('ios')
    const android = await phone('platform-2')
    await bind(null, { push_token: android, provider: 5, device_token: '15638535410301000000001' })
    expect(await platform('platform-2')).toBe('android')
    await bind(null, { push_token: android, provider: 2, device_token: 'hw-token', platform: 'harmony' })
    expect(await platform('platform-2')).toBe('harmony')
  })

  it('resets the badge for a new APNs token only', async () => {
    const { push_token } = (await as(null, '/push/register', { device_guid: 'badge-phone' })).data
    const badge = async () => (await api.client.devices({ device_guid: 'badge-phone' })).list[0]!.badge
    const token = (byte: string) => ({ push_token, provider: 1, device_token: byte.repeat(32) })
    await bind(null, token('01'))
    await as(null, '/user/push/badge', { push_token, badge: 5 })
    await bind(null, token('01'))
    expect(await badge()).toBe(5)
    await bind(null, token('02'))
    expect(await badge()).toBe(0)
  })

  it('stores one form of a token, whichever of the vendor’s forms is typed', async () => {
    const { push_token } = (await as(null, '/push/register', { device_guid: 'form-phone' })).data
    const badge = async () => (await api.client.devices({ device_guid: 'form-phone' })).list[0]!.badge
    const upper = 'AB0C'.repeat(16)
    const lower = upper.toLowerCase()
    await api.call('/admin/device', {
      method: 'PUT',
      body: { device_guid: 'form-import', bindings: [{ provider: 1, device_token: upper }] },
    })
    expect(await bindings('form-import')).toEqual([[1, lower]])
    await bind(null, { push_token, provider: 1, device_token: lower })
    expect(await bindings('form-import')).toEqual([])
    await as(null, '/user/push/badge', { push_token, badge: 5 })
    await bind(null, { push_token, provider: 1, device_token: upper })
    expect(await bindings('form-phone')).toEqual([[1, lower]])
    expect(await badge()).toBe(5)
    const regid = `${'A'.repeat(43)}=`
    await bind(null, { push_token: anna.pushToken, provider: 3, device_token: ` ${regid} ` })
    expect(await bindings('anna-phone')).toContainEqual([3, regid])
    const found = async (token: string) =>
      (await api.client.devices({ token })).list.map(({ device_guid }) => device_guid)
    expect(await found(upper)).toEqual(['form-phone'])
    expect(await found(lower)).toEqual(['form-phone'])
    expect(await found(` ${regid} `)).toEqual(['anna-phone'])
    expect(await found(push_token)).toEqual(['form-phone'])
    await as(null, '/user/token/unbind', { push_token: anna.pushToken, provider: 3 })
  })

  it('takes a token that an earlier release stored as typed for the same', async () => {
    const { push_token } = (await as(null, '/push/register', { device_guid: 'old-form' })).data
    const lower = 'abce'.repeat(16)
    const shown = async () => (await api.client.devices({ device_guid: 'old-form' })).list[0]!
    const storeAsTyped = () =>
      api.context.db.pool.query('UPDATE binding SET token = $1 WHERE token = $2', [
        lower.toUpperCase(),
        lower,
      ])
    const body = { device_guid: 'old-form', bindings: [{ provider: 1, device_token: lower }] }
    await bind(null, { push_token, provider: 1, device_token: lower })
    await as(null, '/user/push/badge', { push_token, badge: 5 })
    for (const write of [
      () => bind(null, { push_token, provider: 1, device_token: lower }),
      () => api.call('/admin/device', { method: 'PUT', body }),
    ]) {
      await storeAsTyped()
      await write()
      expect(await bindings('old-form')).toEqual([[1, lower]])
      expect((await shown()).badge).toBe(5)
    }
    const { rows } = await api.context.db.pool.query('SELECT 1 FROM retired_token WHERE lower(token) = $1', [
      lower,
    ])
    expect(rows).toEqual([])
  })

  it('checks its fields, the token with the vendor’s own rule', async () => {
    const good = { push_token: anna.pushToken, provider: 1, device_token: 'ab'.repeat(32) }
    const cases: [object, number, string][] = [
      [{ ...good, provider: 0 }, 40002, 'provider'],
      [{ ...good, provider: 9 }, 40002, 'provider'],
      [{ ...good, provider: '1' }, 40002, 'provider'],
      [{ ...good, environment: 2 }, 40002, 'environment'],
      [{ ...good, device_token: 'zz' }, 40002, 'device_token'],
      [{ ...good, device_token: ' ' }, 40002, 'device_token is required.'],
      [{ ...good, platform: 'android' }, 40002, 'platform must be ios for provider 1.'],
      [{ ...good, bundle: 'x' }, 40001, 'bundle'],
      [{ ...good, push_token: null }, 40002, 'push_token is required.'],
    ]
    for (const [body, code, message] of cases) {
      const answer = await bind(anna, body)
      expect([answer.code, answer.message]).toEqual([code, expect.stringContaining(message)])
    }
  })

  it('is undone by unbind', async () => {
    const unbind = (provider: number) =>
      as(null, '/user/token/unbind', { push_token: bert.pushToken, provider })
    expect((await unbind(2)).data).toEqual({ removed: true })
    expect((await unbind(2)).data).toEqual({ removed: false })
    expect(await bindings('bert-phone')).toEqual([])
    expect((await as(bert, '/user/token/unbind', { push_token: anna.pushToken, provider: 7 })).code).toBe(
      40401,
    )
  })
})

describe('tags', () => {
  const path = '/user/push/tag'
  const read = async () =>
    (await api.call(`${path}?push_token=${anna.pushToken}`, { token: anna.token })).data.tags

  it('are added, read, removed and cleared', async () => {
    const body = (tags: string[]) => ({ push_token: anna.pushToken, tags })
    expect((await as(anna, path, body(['b', 'a', 'a']))).data).toEqual({ tags: ['a', 'b'] })
    expect((await as(anna, path, body(['c']))).data).toEqual({ tags: ['a', 'b', 'c'] })
    expect((await as(anna, path, body(['a', 'unknown']), 'DELETE')).data).toEqual({ tags: ['b', 'c'] })
    expect(await read()).toEqual(['b', 'c'])
    expect((await as(anna, `${path}/all`, { push_token: anna.pushToken }, 'DELETE')).data).toEqual({
      tags: [],
    })
    expect(await read()).toEqual([])
  })

  it('are at most 100 per device, also when added concurrently', async () => {
    const tags = (from: number, count: number) => Array.from({ length: count }, (_, i) => `t${from + i}`)
    const answers = await Promise.all(
      [0, 40, 80].map((from) => as(anna, path, { push_token: anna.pushToken, tags: tags(from, 40) })),
    )
    expect(answers.map(({ code }) => code).sort()).toEqual([200, 200, 40002])
    expect(await read()).toHaveLength(80)
    expect((await as(anna, path, { push_token: anna.pushToken, tags: tags(200, 101) })).code).toBe(40002)
  })

  it('are counted once each in a list', async () => {
    const change = (tags: string[], method = 'POST') =>
      as(anna, path, { push_token: anna.pushToken, tags }, method)
    const many = (different: number, length: number) =>
      Array.from({ length }, (_, i) => `many-${i % different}`)
    await as(anna, `${path}/all`, { push_token: anna.pushToken }, 'DELETE')
    expect((await change(many(100, 1000))).data.tags).toHaveLength(100)
    for (const method of ['POST', 'DELETE'])
      expect(await change(many(101, 1000), method)).toMatchObject({
        code: 40002,
        message: 'tags must have at most 100 different items.',
      })
    expect((await change(many(1, 1001))).message).toBe('tags must have at most 1000 items.')
    expect((await change(many(99, 1000), 'DELETE')).data).toEqual({ tags: ['many-99'] })
    expect((await change(many(100, 100), 'DELETE')).data).toEqual({ tags: [] })
  })

  it('have at most 64 characters and can be changed only by the device’s user', async () => {
    const add = (who: { token: string }, tag: unknown) =>
      as(who, path, { push_token: anna.pushToken, tags: [tag] })
    expect((await add(anna, '😀'.repeat(64))).code).toBe(200)
    expect((await add(anna, 'x'.repeat(65))).message).toBe('tags[0] must have at most 64 characters.')
    expect((await add(anna, 5)).message).toBe('tags[0] must be a string.')
    expect((await add(anna, '')).message).toBe('tags[0] is required.')
    expect((await add(bert, 'x')).code).toBe(40401)
    expect((await as(null, path, { push_token: anna.pushToken, tags: ['x'] })).code).toBe(40101)
  })

  it('can be changed by an admin acting as the user, too', async () => {
    const headers = { user_id: String(anna.userId) }
    const answer = await api.call(path, { headers, body: { push_token: anna.pushToken, tags: ['by-admin'] } })
    expect(answer.data.tags).toContain('by-admin')
    expect((await api.call(path, { headers, body: { push_token: bert.pushToken, tags: ['x'] } })).code).toBe(
      40401,
    )
  })
})

describe('an alias', () => {
  it('is set, shared and cleared', async () => {
    const path = '/user/push/alias'
    expect((await as(anna, path, { push_token: anna.pushToken, alias: 'family' })).data).toEqual({
      alias: 'family',
    })
    await as(bert, path, { push_token: bert.pushToken, alias: 'family' })
    expect((await api.client.devices({ alias: 'family' })).list).toHaveLength(2)
    const clear = (alias?: string) => as(anna, path, { push_token: anna.pushToken, alias }, 'DELETE')
    expect((await clear('other')).data).toEqual({ alias: 'family' })
    expect((await clear('family')).data).toEqual({ alias: null })
    expect((await clear()).data).toEqual({ alias: null })
    expect((await as(anna, path, { push_token: anna.pushToken, alias: ' ' })).code).toBe(40002)
  })
})

describe('a badge', () => {
  it('is a non-negative integer', async () => {
    const set = (badge: unknown) => as(null, '/user/push/badge', { push_token: anna.pushToken, badge })
    expect((await set(0)).data).toEqual({ badge: 0 })
    for (const badge of [-1, 1.5, '5', 1e10, null]) expect((await set(badge)).code).toBe(40002)
  })
})

describe('an acknowledgement', () => {
  it('is counted once for a recipient, and clicked implies received', async () => {
    const { task_id } = await api.client.notify({
      audience: { push_token: [anna.pushToken] },
      setting: { distribution_strategy: 'nativepush_only' },
      message: { title: 'x' },
    })
    const ack = (who: string, list: object[]) => as(null, '/push/receipt', { push_token: who, list })
    expect((await ack(bert.pushToken, [{ task_id, event: 'received' }])).data).toEqual({ accepted: 1 })
    const received = async () => (await api.client.taskDetail([task_id]))[0]!.nativepush_received
    expect(await received()).toBe(0)
    await ack(anna.pushToken, [
      { task_id, event: 'clicked' },
      { task_id, event: 'received' },
      { task_id: '9007199254740993', event: 'received' },
      { task_id: 5, event: 'received' },
    ])
    expect(await received()).toBe(1)
    await ack(anna.pushToken, [{ task_id, event: 'received' }])
    expect(await received()).toBe(1)
  })

  it('is limited per device, by the entries of its list', async () => {
    const { limits } = api.deps
    api.deps.limits = { ...limits, receipts: tokenBuckets({ ...receiptLimit, now: () => 0 }) }
    const ack = (push_token: string, length: number, token: string | null = null) =>
      api.call('/push/receipt', {
        token,
        body: { push_token, list: Array(length).fill({ task_id: 5, event: 'received' }) },
      })
    try {
      for (let call = 0; call < 9; call++) expect((await ack(anna.pushToken, 500)).code).toBe(200)
      expect((await ack(anna.pushToken, 499)).code).toBe(200)
      const refused = await ack(anna.pushToken, 2)
      expect(refused).toMatchObject({ status: 429, code: 42901 })
      expect(refused.headers.get('retry-after')).toBe('1')
      // The refused call has used up nothing.
      expect((await ack(anna.pushToken, 1)).code).toBe(200)
      expect((await ack(anna.pushToken, 1)).code).toBe(42901)
      expect((await ack(bert.pushToken, 500)).code).toBe(200)
      expect((await ack(anna.pushToken, 500, api.adminToken)).code).toBe(200)
    } finally {
      api.deps.limits = limits
    }
  })

  it('validates its list', async () => {
    const ack = (list: unknown) => as(null, '/push/receipt', { push_token: anna.pushToken, list })
    expect((await ack([])).code).toBe(40002)
    expect((await ack([{ task_id: 1, event: 'seen' }])).message).toBe(
      'list[0].event must be one of received, clicked.',
    )
    expect((await ack([{ task_id: 'x', event: 'clicked' }])).message).toBe(
      'list[0].task_id must be a 64-bit integer.',
    )
    expect((await ack([{ task_id: 1 }])).code).toBe(40002)
    expect((await ack(Array(501).fill({ task_id: 1, event: 'clicked' }))).message).toBe(
      'list must have at most 500 items.',
    )
  })
})

describe('the devices of a user', () => {
  it('are listed in pages and removed by guid', async () => {
    const carla = await api.user('carla', { guid: 'carla-1' })
    for (const guid of ['carla-2', 'carla-3']) await api.client.loginByName('carla', 'carla-password', guid)
    const list = (body: object) => as(carla, '/user/device/list', body)
    const first = (await list({ limit: 2 })).data
    expect(first.list.map((device: { device_guid: string }) => device.device_guid)).toEqual([
      'carla-1',
      'carla-2',
    ])
    const second = (await list({ limit: 2, after: first.next })).data
    expect(second).toMatchObject({ list: [{ device_guid: 'carla-3' }], next: null })
    expect(
      (await api.call('/user/device/list', { token: carla.token, method: 'POST' })).data.list,
    ).toHaveLength(3)

    await as(carla, '/user/token/bind', {
      push_token: carla.pushToken,
      provider: 2,
      device_token: 'carla-huawei',
    })
    expect((await as(bert, '/user/device/remove', { device_guid: 'carla-1' })).code).toBe(40401)
    expect((await as(carla, '/user/device/remove', { device_guid: 'carla-1' })).data).toEqual({
      removed: true,
    })
    expect((await as(carla, '/user/device/remove', { device_guid: 'carla-1' })).code).toBe(40401)
    expect((await api.client.devices({ token: 'carla-huawei' })).list).toEqual([])
    const { rows } = await api.context.db.pool.query(
      `SELECT reason FROM retired_token WHERE token = 'carla-huawei'`,
    )
    expect(rows).toEqual([{ reason: 'unbound' }])
  })

  it('remain without an owner when the user is removed', async () => {
    const dora = await api.user('dora', { guid: 'dora-1' })
    await as(dora, '/user/push/alias', { push_token: dora.pushToken, alias: 'dora' })
    await api.client.removeUser(dora.userId)
    expect((await api.client.devices({ device_guid: 'dora-1' })).list).toMatchObject([
      { user_id: null, alias: null },
    ])
  })
})

describe('a push token', () => {
  const setBadge = async (push_token: string) =>
    (await as(null, '/user/push/badge', { push_token, badge: 1 })).code
  const shown = async (guid: string) => (await api.client.devices({ device_guid: guid })).list[0]!.push_token
  const logIn = async (name: string, device_guid: string): Promise<{ token: string; push_token: string }> =>
    (await as(null, '/token/user', { name, password: `${name}-password`, device_guid })).data
  /** The old token is refused, and the new one works and is shown everywhere. */
  async function expectReplaced(old: string, now: string, guid: string) {
    expect(now).not.toBe(old)
    expect([await setBadge(old), await setBadge(now)]).toEqual([40401, 200])
    expect(await shown(guid)).toBe(now)
    expect((await api.client.devices({ token: old })).list).toEqual([])
    expect((await api.client.devices({ token: now })).list).toHaveLength(1)
  }

  it('stays while the owner stays', async () => {
    expect((await logIn('anna', 'anna-phone')).push_token).toBe(anna.pushToken)
    expect(await shown('anna-phone')).toBe(anna.pushToken)
    expect(anna.pushToken).toMatch(/^[\w-]{30}$/)
  })

  it('is replaced on request', async () => {
    const { push_token: old } = await logIn('anna', 'replaced')
    const now = await api.client.replacePushToken('replaced')
    await expectReplaced(old, now, 'replaced')
    expect((await logIn('anna', 'replaced')).push_token).toBe(now)
    await expect(api.client.replacePushToken('unknown')).rejects.toMatchObject({ code: 40401 })
    const group = await api.client.createGroup('token-group')
    await api.client.addMembers(group.group_id, [bert.userId])
    await expect(api.client.asGroup(group.group_id).replacePushToken('replaced')).rejects.toMatchObject({
      code: 40401,
    })
    await api.client.asGroup(group.group_id).replacePushToken('bert-phone')
    expect((await as(bert, '/admin/device/token', { device_guid: 'bert-phone' })).code).toBe(40301)
  })

  it('is replaced when the device changes its owner', async () => {
    const { push_token: old } = await logIn('anna', 'shared')
    await expectReplaced(old, (await logIn('bert', 'shared')).push_token, 'shared')
    const berts = await shown('shared')
    await api.client.importDevices([{ device_guid: 'shared', platform: 'android', user_id: anna.userId }])
    await expectReplaced(berts, await shown('shared'), 'shared')
  })

  it('ends with the tokens of its user', async () => {
    const emil = await api.user('emil', { guid: 'emil-phone' })
    await as(emil, '/token/revoke', {})
    await expectReplaced(emil.pushToken, (await logIn('emil', 'emil-phone')).push_token, 'emil-phone')
    const second = await shown('emil-phone')
    await api.client.changePassword(emil.userId, 'another-password')
    await expectReplaced(second, await shown('emil-phone'), 'emil-phone')
    const third = await shown('emil-phone')
    await api.client.removeUser(emil.userId)
    await expectReplaced(third, await shown('emil-phone'), 'emil-phone')
  })

  it('of a removed device does not return with its guid', async () => {
    const { token, push_token } = await logIn('anna', 'returning')
    await as({ token }, '/user/device/remove', { device_guid: 'returning' })
    expect((await logIn('anna', 'returning')).push_token).not.toBe(push_token)
    expect(await setBadge(push_token)).toBe(40401)
  })

  it('that was derived from a lost key is replaced at the next login', async () => {
    const { push_token } = await logIn('anna', 'lost')
    await api.context.db.pool.query(
      `UPDATE device SET push_token_hash = push_token_hash('of-another-key') WHERE guid = 'lost'`,
    )
    expect(await shown('lost')).toBe('')
    await expectReplaced(push_token, (await logIn('anna', 'lost')).push_token, 'lost')
  })
})

describe('a call of a former owner', () => {
  const logIn = async (device_guid: string): Promise<string> =>
    (await as(null, '/token/user', { name: 'anna', password: 'anna-password', device_guid })).data.push_token

  /** Starts a call that waits for the row of the device, which is changed before the call gets it. */
  async function overtaken(guid: string, call: () => Promise<Answer>, changeSql: string): Promise<Answer> {
    const { pool } = api.context.db
    const other = await pool.connect()
    try {
      await other.query('BEGIN')
      await other.query('SELECT 1 FROM device WHERE guid = $1 FOR UPDATE', [guid])
      const answer = call()
      const isWaiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      await until(async () => (await pool.query(isWaiting)).rowCount === 1)
      await other.query(changeSql, [guid])
      await other.query('COMMIT')
      return await answer
    } finally {
      other.release()
    }
  }

  it.each([
    ['sets no alias', '/user/push/alias', { alias: 'late' }, 'POST'],
    ['clears no alias', '/user/push/alias', {}, 'DELETE'],
    ['adds no tags', '/user/push/tag', { tags: ['late'] }, 'POST'],
    ['removes no tags', '/user/push/tag', { tags: ['kept'] }, 'DELETE'],
    ['clears no tags', '/user/push/tag/all', {}, 'DELETE'],
    ['removes nothing', '/user/device/remove', undefined, 'POST'],
  ])('%s once the device is another user’s', async (name, path, fields, method) => {
    const guid = `moved: ${name}`
    const push_token = await logIn(guid)
    await as(anna, '/user/push/alias', { push_token, alias: 'family' })
    await as(anna, '/user/push/tag', { push_token, tags: ['kept'] })
    const answer = await overtaken(
      guid,
      () => as(anna, path, fields ? { push_token, ...fields } : { device_guid: guid }, method),
      `UPDATE device SET user_id = ${bert.userId}, token_generation = token_generation + 1 WHERE guid = $1`,
    )
    expect(answer.code).toBe(40401)
    expect((await api.client.devices({ device_guid: guid })).list).toMatchObject([
      { user_id: bert.userId, alias: 'family', tags: ['kept'] },
    ])
  })

  it.each([
    ['binds no Live Activity', '/user/activity', { activity_id: 'late', token: 'cd'.repeat(40) }, 'POST'],
    ['removes no Live Activity', '/user/activity', { activity_id: 'kept' }, 'DELETE'],
    ['sets no badge', '/user/push/badge', { badge: 7 }, 'POST'],
  ])('%s once the device is another user’s', async (name, path, fields, method) => {
    const guid = `moved: ${name}`
    const push_token = await logIn(guid)
    const token = Buffer.from(name).toString('hex').padEnd(80, '0')
    await as(anna, '/user/activity', { push_token, activity_id: 'kept', token })
    await as(anna, '/user/push/badge', { push_token, badge: 3 })
    const answer = await overtaken(
      guid,
      () => as(anna, path, { push_token, ...fields }, method),
      `UPDATE device SET user_id = ${bert.userId}, token_generation = token_generation + 1 WHERE guid = $1`,
    )
    expect(answer.code).toBe(40401)
    const { rows } = await api.context.db.pool.query(
      'SELECT a.name, a.token FROM activity a JOIN device d ON d.id = a.device_id WHERE d.guid = $1',
      [guid],
    )
    expect(rows).toEqual([{ name: 'kept', token }])
    expect((await api.client.devices({ device_guid: guid })).list).toMatchObject([{ badge: 3 }])
  })

  it.each([
    ['binds no vendor token', '/user/token/bind', { provider: 2, device_token: 'former-token' }],
    ['removes no vendor token', '/user/token/unbind', { provider: 7 }],
  ])('%s once the device is another user’s', async (name, path, fields) => {
    const guid = `moved: ${name}`
    const push_token = await logIn(guid)
    const kept = `fcm-${name.replaceAll(' ', '-')}:kept`
    await as(anna, '/user/token/bind', { push_token, provider: 7, device_token: kept })
    const answer = await overtaken(
      guid,
      () => as(anna, path, { push_token, ...fields }),
      `UPDATE device SET user_id = ${bert.userId}, token_generation = token_generation + 1 WHERE guid = $1`,
    )
    const unknown = await as(anna, path, { push_token: 'unknown', ...fields })
    expect([answer.code, answer.text]).toEqual([40401, unknown.text])
    expect(await bindings(guid)).toEqual([[7, kept]])
  })

  it('clears no alias but the one that it names', async () => {
    const push_token = await logIn('next alias')
    await as(anna, '/user/push/alias', { push_token, alias: 'carol' })
    const answer = await overtaken(
      'next alias',
      () => as(anna, '/user/push/alias', { push_token, alias: 'carol' }, 'DELETE'),
      `UPDATE device SET alias = 'dave' WHERE guid = $1`,
    )
    expect(answer.data).toEqual({ alias: 'dave' })
    expect((await api.client.devices({ device_guid: 'next alias' })).list).toMatchObject([{ alias: 'dave' }])
  })

  it('adds no tags once the device is removed', async () => {
    const push_token = await logIn('removed')
    const { pool } = api.context.db
    const { rows } = await pool.query(`SELECT id FROM device WHERE guid = 'removed'`)
    const answer = await overtaken(
      'removed',
      () => as(anna, '/user/push/tag', { push_token, tags: ['late'] }),
      'DELETE FROM device WHERE guid = $1',
    )
    expect(answer.code).toBe(40401)
    const left = await pool.query('SELECT 1 FROM device_tag WHERE device_id = $1', [rows[0].id])
    expect(left.rowCount).toBe(0)
  })

  it('binds no vendor token once the device is removed', async () => {
    const push_token = await logIn('removed-too')
    const answer = await overtaken(
      'removed-too',
      () => as(anna, '/user/token/bind', { push_token, provider: 2, device_token: 'late-token' }),
      'DELETE FROM device WHERE guid = $1',
    )
    expect(answer.code).toBe(40401)
    const left = await api.context.db.pool.query(`SELECT 1 FROM binding WHERE token = 'late-token'`)
    expect(left.rowCount).toBe(0)
  })
})
