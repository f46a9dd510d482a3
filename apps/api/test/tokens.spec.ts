import { createPublicKey } from 'node:crypto'
import { tokenBuckets } from '@herald/async'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import jwt from 'jsonwebtoken'
import { createPasswords } from '../src/auth/passwords.ts'
import { countingPasswords, freeLimits, openTestApi, type TestApi } from './harness.ts'

const counter = countingPasswords()
let api: TestApi
let userId: number

beforeAll(async () => {
  api = await openTestApi({ overrides: { passwords: createPasswords({ derive: counter.derive }) } })
  const { data } = await api.call('/admin/user', {
    body: {
      username: 'anna',
      mobile: '+8613800000001',
      email: 'Anna@Example.com',
      password: 'right-password',
    },
  })
  userId = data.user_id
})
afterAll(() => api.close())

const login = (path: string, body: object) => api.call(path, { token: null, body })

describe('a login', () => {
  it('returns the eight fields of the token record with real values', async () => {
    const before = Math.floor(Date.now() / 1000)
    const { data } = await login('/token/id', {
      user_id: userId,
      password: 'right-password',
      device_guid: 'guid-1',
    })
    const after = Math.ceil(Date.now() / 1000)
    expect(Object.keys(data).sort()).toEqual([
      'access_key_secret',
      'encrypt_type',
      'expire',
      'public_key',
      'push_token',
      'store_token',
      'token',
      'user_id',
    ])
    expect(data.access_key_secret).toMatch(/^[0-9a-f]{64}$/)
    expect(data.encrypt_type).toBe(0)
    expect(data.user_id).toBe(userId)
    const week = 7 * 86_400
    expect(data.expire).toBeGreaterThanOrEqual(before + week)
    expect(data.expire).toBeLessThanOrEqual(after + week)
    const key = createPublicKey(data.public_key)
    expect(jwt.verify(data.token, key, { algorithms: ['ES256'] })).toMatchObject({
      iss: 'herald',
      app: api.appId,
      role: 'user',
      sub: String(userId),
      ver: 0,
      exp: data.expire,
    })
    expect(jwt.verify(data.store_token, key, { algorithms: ['ES256'], audience: 'store' })).toBeTruthy()
    expect(data.push_token).toMatch(/^[\w-]{22,}$/)
  })

  it('omits push_token without a device_guid, also when it is blank', async () => {
    for (const device_guid of [undefined, null, '', '  ']) {
      const { data } = await login('/token/user', { name: 'anna', password: 'right-password', device_guid })
      expect(data).not.toHaveProperty('push_token')
    }
  })

  it('accepts mobile, email in any case, or username at /token/login, and only the username at /token/user', async () => {
    for (const login_name of ['+8613800000001', 'anna@example.COM', 'anna'])
      expect((await login('/token/login', { login_name, password: 'right-password' })).data.user_id).toBe(
        userId,
      )
    expect((await login('/token/user', { name: 'anna@example.com', password: 'right-password' })).code).toBe(
      40103,
    )
  })

  it('prefers the mobile of one user to the same text as the username of another', async () => {
    await api.call('/admin/user', { body: { username: '+8613800000001', password: 'other-password' } })
    const { data } = await login('/token/login', { login_name: '+8613800000001', password: 'right-password' })
    expect(data.user_id).toBe(userId)
  })

  it('prefers the email of one user to the same text as the username of another', async () => {
    const login_name = 'berta@example.com'
    // The first row that Postgres finds.
    await api.call('/admin/user', { body: { username: login_name, password: 'other-password' } })
    const berta = await api.call('/admin/user', {
      body: { username: 'berta', email: login_name, password: 'right-password' },
    })
    const { data } = await login('/token/login', { login_name, password: 'right-password' })
    expect(data.user_id).toBe(berta.data.user_id)
  })

  it('returns the same push token for a guid every time, and another in another application', async () => {
    const first = await login('/token/id', {
      user_id: userId,
      password: 'right-password',
      device_guid: 'stable',
    })
    const second = await login('/token/user', {
      name: 'anna',
      password: 'right-password',
      device_guid: 'stable',
    })
    expect(second.data.push_token).toBe(first.data.push_token)
    const other = await api.createApplication('other-guid')
    const register = await api.call('/push/register', {
      appId: other.appId,
      token: null,
      body: { device_guid: 'stable' },
    })
    expect(register.data.push_token).not.toBe(first.data.push_token)
  })

  it('accepts the user id as a decimal string, too', async () => {
    expect((await login('/token/id', { user_id: String(userId), password: 'right-password' })).code).toBe(200)
  })

  it('keeps an int64 beyond 2^53 exact', async () => {
    const { passwordHash } = await api.context.db.prisma.appUser.findFirstOrThrow({
      where: { username: 'anna' },
    })
    await api.context.db.pool.query(
      'INSERT INTO app_user (id, app_id, username, password_hash) VALUES (9007199254740993, $1, $2, $3)',
      [api.appId, 'huge', passwordHash],
    )
    for (const raw of [
      '{"user_id":9007199254740993,"password":"right-password"}',
      '{"user_id":"9007199254740993","password":"right-password"}',
    ]) {
      const { text } = await api.call('/token/id', {
        token: null,
        raw,
        headers: { 'content-type': 'application/json' },
      })
      expect(text).toMatch(/"user_id":9007199254740993[,}]/)
    }
    const { token } = await api.client.loginById(9007199254740993n, 'right-password')
    const own = await api.call('/user/device/list', {
      token,
      headers: { user_id: '9007199254740993' },
      body: {},
    })
    expect(own.code).toBe(200)
    expect(
      (await api.call('/user/device/list', { token, headers: { user_id: '9007199254740992' }, body: {} }))
        .code,
    ).toBe(40302)
    expect((await api.client.users({ after: 9007199254740992n })).list[0]?.user_id).toBe(9007199254740993n)
  })

  it('computes one hash and gives the same message, whether or not the user exists', async () => {
    const attempts: [string, object][] = [
      ['/token/user', { name: 'anna', password: 'wrong' }],
      ['/token/user', { name: 'nobody', password: 'wrong' }],
      ['/token/id', { user_id: userId, password: 'wrong' }],
      ['/token/id', { user_id: 1, password: 'wrong' }],
      ['/token/login', { login_name: 'nobody@nowhere', password: 'wrong' }],
    ]
    const answers = []
    for (const [path, body] of attempts) {
      const before = counter.derived()
      const { status, text } = await login(path, body)
      answers.push({ status, text, hashes: counter.derived() - before })
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]).toMatchObject({ status: 401, hashes: 1 })
  })

  it('says which field is wrong', async () => {
    const cases: [string, object, string][] = [
      ['/token/id', { password: 'x' }, 'user_id is required.'],
      ['/token/id', { user_id: 1.5, password: 'x' }, 'user_id must be a 64-bit integer.'],
      ['/token/id', { user_id: 'abc', password: 'x' }, 'user_id must be a 64-bit integer.'],
      ['/token/id', { user_id: '9223372036854775808', password: 'x' }, 'user_id must be a 64-bit integer.'],
      ['/token/user', { name: 'anna', password: 5 }, 'password must be a string.'],
      ['/token/user', { name: 'anna', password: ' ' }, 'password is required.'],
      ['/token/user', { name: 'anna', password: 'x', device_guid: 7 }, 'device_guid must be a string.'],
      ['/token/login', { login_name: ['a'], password: 'x' }, 'login_name must be a string.'],
      [
        '/token/login',
        { login_name: 'a'.repeat(321), password: 'x' },
        'login_name must have at most 320 characters.',
      ],
    ]
    for (const [path, body, message] of cases)
      expect(await login(path, body)).toMatchObject({ status: 400, code: 40002, message })
    expect(await login('/token/user', { name: 'a', pasword: 'x' })).toMatchObject({
      code: 40001,
      message: 'pasword is not a field of the body.',
    })
  })
})

describe('the limit of failed logins', () => {
  it('lets ten fail, then answers 42902 with Retry-After, even to the right password', async () => {
    await api.call('/admin/user', { body: { username: 'locked', password: 'right-password' } })
    for (let i = 0; i < 10; i++)
      expect((await login('/token/user', { name: 'locked', password: `wrong${i}` })).code).toBe(40103)
    const refused = await login('/token/user', { name: 'locked', password: 'right-password' })
    expect(refused).toMatchObject({ status: 429, code: 42902 })
    const wait = Number(refused.headers.get('retry-after'))
    expect(wait).toBeGreaterThan(800)
    expect(wait).toBeLessThanOrEqual(900)
    expect((await login('/token/login', { login_name: 'LOCKED', password: 'right-password' })).code).toBe(
      42902,
    )
  })

  it('is shared by all logins of a user, without telling that they belong together', async () => {
    const { data } = await api.call('/admin/user', {
      body: { username: 'four', mobile: '13900000004', email: 'four@x.y', password: 'right-password' },
    })
    const attempt = (i: number, password: string) =>
      [
        () => login('/token/user', { name: 'four', password }),
        () => login('/token/id', { user_id: data.user_id, password }),
        () => login('/token/login', { login_name: '13900000004', password }),
        () => login('/token/login', { login_name: 'four@x.y', password }),
      ][i % 4]!()
    for (let i = 0; i < 10; i++) expect((await attempt(i, `wrong${i}`)).code).toBe(40103)
    const hashes = counter.derived()
    const refused = await attempt(0, 'right-password')
    const unknown = await login('/token/user', { name: 'no such name', password: 'wrong' })
    expect([refused.status, refused.text]).toEqual([unknown.status, unknown.text])
    expect(counter.derived() - hashes).toBe(2)
    await api.context.db.pool.query(`UPDATE login_failure SET window_start = now() - interval '16 minutes'`)
    expect((await attempt(1, 'right-password')).code).toBe(200)
  })

  it('is not shared with a login that is called as a counter', async () => {
    const counted = { username: 'counted', password: 'right-password' }
    const { data } = await api.call('/admin/user', { body: counted })
    const attempt = (name: string, password = 'wrong') => login('/token/user', { name, password })
    for (const name of ['counted', 'uncounted'])
      for (let i = 0; i < 10; i++) expect((await attempt(name)).code).toBe(40103)
    const { rows } = await api.context.db.pool.query<{ login: string }>(
      'SELECT login FROM login_failure WHERE app_id = $1 AND failures >= 10',
      [api.appId],
    )
    const counters = rows.map((row) => row.login).filter((name) => /^(no )?user /i.test(name))
    expect(counters).toEqual(
      expect.arrayContaining([
        expect.stringMatching(new RegExp(`user ${data.user_id}$`, 'i')),
        expect.stringMatching(/user uncounted$/i),
      ]),
    )
    for (const name of counters) expect([name, (await attempt(name)).code]).toEqual([name, 40103])
    for (const name of ['counted', 'uncounted']) expect((await attempt(name)).code).toBe(42902)
  })

  it('counts failures of an address, except those that come with an admin token', async () => {
    const failedLogin = tokenBuckets({ perSecond: 1, burst: 3, now: () => 0 })
    const limited = await openTestApi({
      env: { HERALD_TRUSTED_PROXIES: '1' },
      overrides: {
        passwords: createPasswords({ derive: counter.derive }),
        limits: { ...freeLimits(), failedLogin },
      },
    })
    try {
      await limited.client.createUser({ username: 'anna', password: 'right-password' })
      const attempt = async (address: string, name: string, token: string | null = null) =>
        limited.call('/token/user', {
          token,
          headers: { 'x-forwarded-for': address },
          body: { name, password: name === 'anna' ? 'right-password' : 'wrong' },
        })
      for (let i = 0; i < 5; i++) expect((await attempt('10.0.0.1', 'anna')).code).toBe(200)
      for (let i = 0; i < 3; i++) expect((await attempt('10.0.0.1', `unknown${i}`)).code).toBe(40103)
      const refused = await attempt('10.0.0.1', 'anna')
      expect(refused).toMatchObject({ status: 429, code: 42902 })
      expect(refused.headers.get('retry-after')).toBe('1')
      expect((await attempt('10.0.0.2', 'anna')).code).toBe(200)
      expect((await attempt('10.0.0.1', 'anna', limited.adminToken)).code).toBe(200)
      const admin = { token: null, headers: { 'x-forwarded-for': '10.0.0.1' }, body: { app_secret: 'wrong' } }
      expect((await limited.call('/token/admin', admin)).code).toBe(42902)
    } finally {
      await limited.close()
    }
  })

  it('applies to concurrent guesses', async () => {
    const hashes = counter.derived()
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => login('/token/user', { name: 'burst', password: `guess${i}` })),
    )
    expect(answers.filter(({ code }) => code === 40103)).toHaveLength(10)
    expect(answers.filter(({ code }) => code === 42902)).toHaveLength(50)
    expect(counter.derived() - hashes).toBe(10)
  })

  it('does not count successful logins, also concurrent ones', async () => {
    await api.call('/admin/user', { body: { username: 'busy', password: 'right-password' } })
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => login('/token/user', { name: 'busy', password: 'right-password' })),
    )
    expect(answers.every(({ code }) => code === 200)).toBe(true)
  })

  it('does not count the logins in progress of a name as failed, however many may be checked at once', async () => {
    await api.call('/admin/user', { body: { username: 'many', password: 'right-password' } })
    const { passwords } = api.deps
    api.deps.passwords = createPasswords({ derive: counter.derive, atOnce: 16 })
    const codes = async (password: string) => {
      const attempts = Array.from({ length: 16 }, () => login('/token/user', { name: 'many', password }))
      return (await Promise.all(attempts)).map(({ code }) => code)
    }
    try {
      expect(await codes('right-password')).toEqual(Array(16).fill(200))
      const hashes = counter.derived()
      expect((await codes('wrong')).sort()).toEqual([...Array(10).fill(40103), ...Array(6).fill(42902)])
      expect(counter.derived() - hashes).toBe(10)
    } finally {
      api.deps.passwords = passwords
    }
  })

  it('ends with its window', async () => {
    await api.context.db.pool.query(
      `UPDATE login_failure SET window_start = now() - interval '16 minutes' WHERE login = 'locked'`,
    )
    expect((await login('/token/user', { name: 'locked', password: 'right-password' })).code).toBe(200)
  })
})

describe('calls with an admin token', () => {
  it('do not wait in the list of anonymous logins', async () => {
    const changing = { username: 'changing', password: 'right-password' }
    const { user_id } = (await api.call('/admin/user', { body: changing })).data
    const { passwords } = api.deps
    const slow = Promise.withResolvers<Buffer>()
    const slowly = createPasswords({ atOnce: 1, maxWaiting: 3, derive: () => slow.promise })
    let asked = 0
    api.deps.passwords = {
      ...slowly,
      inTurn(of, attempt) {
        asked++
        return slowly.inTurn(of, attempt)
      },
    }
    try {
      const anonymous = Array.from({ length: 5 }, (_, i) =>
        login('/token/user', { name: `flood-${i}`, password: 'x' }),
      )
      // One runs, three wait, and one is refused.
      await until(() => asked === 5)
      const calls = [
        api.call('/admin/user', { body: { username: 'newcomer', password: 'right-password' } }),
        api.call('/admin/user/password', { body: { user_id, password: 'new-password' } }),
        api.call('/token/user', { body: { name: 'flood-5', password: 'x' } }),
      ]
      await until(() => asked === 8)
      slow.resolve(Buffer.alloc(32))
      expect((await Promise.all(calls)).map(({ code }) => code)).toEqual([200, 200, 40103])
      const codes = (await Promise.all(anonymous)).map(({ code }) => code)
      expect(codes.sort()).toEqual([...Array(4).fill(40103), 42901])
    } finally {
      api.deps.passwords = passwords
    }
  })
})

describe('an admin token', () => {
  it('is issued for the secret, without user_id and push_token', async () => {
    const { data } = await login('/token/admin', { app_secret: api.appSecret })
    expect(Object.keys(data).sort()).toEqual([
      'access_key_secret',
      'encrypt_type',
      'expire',
      'public_key',
      'store_token',
      'token',
    ])
    expect((await api.call('/admin/user/list', { token: data.token, body: {} })).code).toBe(200)
  })

  it('is not issued for a wrong secret', async () => {
    const other = await api.createApplication('other-secret')
    expect((await login('/token/admin', { app_secret: other.appSecret })).code).toBe(40103)
    expect((await login('/token/admin', { app_secret: '' })).code).toBe(40002)
  })
})

describe('an access token', () => {
  const use = (token: string) => api.call('/user/device/list', { token, body: {} })

  it('is revoked by the user, by a new password, and when the user is removed', async () => {
    const before = (await login('/token/user', { name: 'busy', password: 'right-password' })).data
    expect((await use(before.token)).code).toBe(200)
    expect((await api.call('/token/revoke', { token: before.token, body: {} })).code).toBe(200)
    expect((await use(before.token)).code).toBe(40102)

    const second = (await login('/token/user', { name: 'busy', password: 'right-password' })).data
    await api.client.changePassword(second.user_id, 'new-password')
    expect((await use(second.token)).code).toBe(40102)
    expect((await login('/token/user', { name: 'busy', password: 'right-password' })).code).toBe(40103)

    const third = (await login('/token/user', { name: 'busy', password: 'new-password' })).data
    await api.client.removeUser(third.user_id)
    expect((await use(third.token)).code).toBe(40102)
  })

  it('is revoked for all admins by an admin', async () => {
    const other = await api.createApplication('revoking')
    const list = () => api.call('/admin/user/list', { appId: other.appId, token: other.token, body: {} })
    expect((await list()).code).toBe(200)
    await api.call('/token/revoke', { appId: other.appId, token: other.token, method: 'POST' })
    expect((await list()).code).toBe(40102)
  })

  it('is refused if it was changed', async () => {
    const { token, store_token } = (await login('/token/user', { name: 'anna', password: 'right-password' }))
      .data
    const [head, payload, signature] = token.split('.')
    const forged = (header: object, claims: object) =>
      [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const secret = api.deps.sessions.tokens.publicKey
    const bad = [
      store_token,
      `${head}.${payload}.`,
      `${forged({ alg: 'none', typ: 'JWT' }, claims)}.`,
      `${forged({ alg: 'ES256', typ: 'JWT', kid: '../../dev/null' }, { ...claims, role: 'admin' })}.${signature}`,
      jwt.sign({ ...claims, role: 'admin' }, 'public', { algorithm: 'HS256' }),
      `${head}.${payload}.${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`,
      secret.replaceAll('\n', ''),
      'x',
      'a.b.c',
    ]
    for (const candidate of bad) expect((await use(candidate)).code).toBe(40102)
    expect((await use(token)).code).toBe(200)
  })

  it('is refused by another application, and after it expired', async () => {
    const { token } = (await login('/token/user', { name: 'anna', password: 'right-password' })).data
    const other = await api.createApplication('foreign')
    expect((await api.call('/user/device/list', { appId: other.appId, token, body: {} })).code).toBe(40102)
    const claims = { app: api.appId, role: 'user' as const, subject: String(userId), version: 0 }
    const old = api.deps.sessions.tokens.issue(claims, Date.now() - 7 * 86_400_000 - 1000)
    expect((await use(old.token)).code).toBe(40102)
  })
})

describe('a device that gets another user at a login', () => {
  it('loses push token, alias, tags, badge and inbox, and keeps its bindings', async () => {
    const first = await api.user('first-owner', { guid: 'shared-phone' })
    const second = await api.user('second-owner')
    const { db } = api.context
    await api.call('/user/push/tag', {
      token: first.token,
      body: { push_token: first.pushToken, tags: ['a'] },
    })
    await api.call('/user/push/alias', {
      token: first.token,
      body: { push_token: first.pushToken, alias: 'me' },
    })
    await api.call('/user/push/badge', {
      token: first.token,
      body: { push_token: first.pushToken, badge: 7 },
    })
    await api.call('/user/token/bind', {
      token: first.token,
      body: { push_token: first.pushToken, provider: 7, device_token: 'fcm-token-of-shared-phone:APA91b' },
    })
    const sent = await api.client.notify({
      audience: { push_token: [first.pushToken] },
      setting: { distribution_strategy: 'nativepush_only' },
      message: { title: 'for the first owner' },
    })
    const waiting = () =>
      db.pool.query('SELECT count(*)::int AS n FROM inbox WHERE task_id = $1', [sent.task_id])
    expect((await waiting()).rows[0].n).toBe(1)

    const moved = await login('/token/id', {
      user_id: second.userId,
      password: 'second-owner-password',
      device_guid: 'shared-phone',
    })
    expect(moved.data.push_token).not.toBe(first.pushToken)
    expect((await api.client.devices({ device_guid: 'shared-phone' })).list).toMatchObject([
      { user_id: second.userId, alias: null, tags: [], badge: 0, bindings: [{ provider: 7 }] },
    ])
    expect((await waiting()).rows[0].n).toBe(0)
    expect(
      (await db.pool.query(`SELECT expired FROM counter WHERE task_id = $1`, [sent.task_id])).rows,
    ).toEqual([{ expired: 1 }])
    expect((await api.call('/user/device/list', { token: first.token, body: {} })).data.list).toEqual([])
  })
})
