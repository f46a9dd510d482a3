import { HeraldError, HeraldServer } from '@herald/client'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createPasswords } from '../src/auth/passwords.ts'
import { countingPasswords, OPERATOR_KEY, openTestApi, type TestApi } from './harness.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi({
    overrides: { passwords: createPasswords({ derive: countingPasswords().derive }) },
  })
})
afterAll(() => api.close())

const operator = (path: string, body?: object, method?: string) =>
  api.call(path, {
    token: null,
    appId: null,
    headers: { authorization: `Bearer ${OPERATOR_KEY}` },
    body,
    method,
  })

describe('applications', () => {
  it('are created with a secret that is shown once and works', async () => {
    const { data } = await operator('/admin/app', { name: 'shop', package_name: 'com.shop' })
    expect(data.app_id.length).toBeLessThanOrEqual(32)
    const herald = new HeraldServer({ baseUrl: api.url, appId: data.app_id, appSecret: data.app_secret })
    expect((await herald.users()).list).toEqual([])
    const list = await operator('/admin/app/list')
    expect(list.data).toContainEqual(
      expect.objectContaining({ app_id: data.app_id, name: 'shop', package_name: 'com.shop' }),
    )
    expect(list.text).not.toContain(data.app_secret)
    const { rows } = await api.context.db.pool.query('SELECT secret_hash FROM application WHERE id = $1', [
      data.app_id,
    ])
    expect(rows[0].secret_hash).toHaveLength(32)
  })

  it('get a new secret, which revokes the old one, its tokens and console sessions', async () => {
    const { data } = await operator('/admin/app', { name: 'leaky' })
    const login = (app_secret: string) =>
      api.call('/token/admin', { body: { app_secret }, appId: data.app_id, token: null })
    const { token } = (await login(data.app_secret)).data
    const renewed = await operator('/admin/app/secret', { app_id: data.app_id })
    expect(renewed.data.app_secret).not.toBe(data.app_secret)
    expect((await login(data.app_secret)).code).toBe(40103)
    expect((await login(renewed.data.app_secret)).code).toBe(200)
    const withOld = await api.call('/admin/user/list', { appId: data.app_id, token, body: {} })
    expect(withOld.code).toBe(40102)
    expect(await operator('/admin/app/secret', { app_id: 'nobody' })).toMatchObject({ code: 40401 })
  })

  it('are renamed, and the audit says so', async () => {
    const { data } = await operator('/admin/app', { name: 'before', package_name: 'com.before' })
    const rename = (body: object) => operator('/admin/app', body, 'PUT')
    const { app_id } = data
    expect((await rename({ app_id, name: 'after' })).data).toEqual({ app_id })
    const now = async () =>
      (await operator('/admin/app/list')).data.find((one: { app_id: string }) => one.app_id === app_id)
    expect(await now()).toMatchObject({ name: 'after', package_name: 'com.before' })
    await rename({ app_id, package_name: '' })
    expect(await now()).toMatchObject({ name: 'after', package_name: '' })
    const { rows } = await api.context.db.pool.query(
      `SELECT detail->>'former' AS former, detail->>'name' AS name FROM audit WHERE app_id = $1 AND action = 'application.rename' ORDER BY id`,
      [app_id],
    )
    expect(rows).toEqual([
      { former: 'before', name: 'after' },
      { former: 'after', name: 'after' },
    ])
    expect(await rename({ app_id: 'nobody', name: 'x' })).toMatchObject({ status: 404, code: 40401 })
    await operator('/admin/app', { name: 'in use' })
    expect(await rename({ app_id, name: 'in use' })).toMatchObject({ status: 409, code: 40901 })
  })

  it('have a package name that an app store would accept', async () => {
    for (const package_name of ['not a package!', 'com..example', '.com', 'com.example.'])
      expect(await operator('/admin/app', { name: 'odd', package_name })).toMatchObject({
        code: 40002,
        message: 'package_name must be a package name or bundle ID such as com.example.shop.',
      })
    expect(
      (await operator('/admin/app', { name: 'bundle', package_name: 'com.example-shop.App_2' })).code,
    ).toBe(200)
  })

  it('have unique names', async () => {
    await operator('/admin/app', { name: 'twice' })
    expect(await operator('/admin/app', { name: 'twice' })).toMatchObject({ status: 409, code: 40901 })
    expect((await operator('/admin/app', {})).message).toBe('name is required.')
    expect((await operator('/admin/app', { name: 'x', app_id: 'mine' })).code).toBe(40001)
  })
})

describe('users', () => {
  const create = (body: object) => api.call('/admin/user', { body })

  it('are unique by username, mobile and email', async () => {
    await create({ username: 'u1', mobile: '13800000001', email: 'u1@x.y', password: 'password' })
    for (const [field, value] of [
      ['username', 'u1'],
      ['mobile', '13800000001'],
      ['email', 'U1@X.Y'],
    ] as const) {
      const body = {
        username: 'u2',
        mobile: '13800000002',
        email: 'u2@x.y',
        password: 'password',
        [field]: value,
      }
      expect(await create(body)).toMatchObject({
        code: 40901,
        message: `A user with this ${field} already exists.`,
      })
    }
    const other = await api.createApplication('same-names')
    expect(
      (
        await api.call('/admin/user', {
          appId: other.appId,
          token: other.token,
          body: { username: 'u1', password: 'password' },
        })
      ).code,
    ).toBe(200)
  })

  it('are checked', async () => {
    const cases: [object, string][] = [
      [{ password: 'password' }, 'username is required.'],
      [{ username: 'x' }, 'password is required.'],
      [
        { username: 'x', password: 'password', mobile: 'abc' },
        'mobile must have 3 to 20 digits, with an optional leading +.',
      ],
      [{ username: 'x', password: 'password', email: 'abc' }, 'email must be an email address.'],
      [{ username: 'x'.repeat(129), password: 'password' }, 'username must have at most 128 characters.'],
    ]
    for (const [body, message] of cases) expect(await create(body)).toMatchObject({ code: 40002, message })
  })

  it('are listed in pages by id', async () => {
    for (let i = 0; i < 5; i++) await create({ username: `page${i}`, password: 'password' })
    const seen: unknown[] = []
    for (let after: number | bigint | undefined; ; ) {
      const page = await api.client.users({ limit: 2, after })
      seen.push(...page.list.map((user) => user.username))
      if (page.next === null) break
      after = page.next
    }
    expect(seen).toEqual(expect.arrayContaining(['page0', 'page1', 'page2', 'page3', 'page4']))
    expect(new Set(seen).size).toBe(seen.length)
  })

  it('that do not exist are 40401', async () => {
    for (const path of ['/admin/user/remove', '/admin/user/password'])
      expect(
        (
          await api.call(path, {
            body: { user_id: '9007199254740993', ...(path.endsWith('word') && { password: 'password' }) },
          })
        ).message,
      ).toBe('The user 9007199254740993 does not exist.')
  })

  it('do not keep their password in the clear', async () => {
    const real = await openTestApi()
    try {
      await real.call('/admin/user', { body: { username: 'a', password: 'open sesame' } })
      const { rows } = await real.context.db.pool.query('SELECT password_hash FROM app_user')
      expect(rows[0].password_hash).toMatch(/^\$argon2id\$v=19\$m=\d+,t=\d+,p=1\$/)
      expect((await real.client.login('a', 'open sesame')).user_id).toBeTruthy()
      await expect(real.client.login('a', 'open sesam')).rejects.toMatchObject({ code: 40103 })
    } finally {
      await real.close()
    }
  })
})

describe('groups', () => {
  it('have members, listed in pages', async () => {
    const { group_id } = await api.client.createGroup('staff')
    const users = []
    for (const name of ['g1', 'g2', 'g3'])
      users.push((await api.client.createUser({ username: name, password: 'password' })).user_id)
    expect(await api.client.addMembers(group_id, [...users, users[0]!, 424242])).toEqual({ added: 3 })
    expect(await api.client.addMembers(group_id, users)).toEqual({ added: 0 })
    const first = await api.client.members(group_id, { limit: 2 })
    expect(first.list.map((user) => user.username)).toEqual(['g1', 'g2'])
    expect(
      (await api.client.members(group_id, { limit: 2, after: first.next! })).list.map(
        (user) => user.username,
      ),
    ).toEqual(['g3'])
    expect(await api.client.removeMembers(group_id, [users[0]!, 424242])).toEqual({ removed: 1 })
    expect((await api.client.groups()).list).toMatchObject([{ group_id, name: 'staff', members: 2 }])
    expect((await api.call('/admin/group', { body: { name: 'staff' } })).code).toBe(40901)
    await api.client.removeGroup(group_id)
    await expect(api.client.members(group_id)).rejects.toBeInstanceOf(HeraldError)
  })

  it('are not accepted in the header once they are removed', async () => {
    const { group_id } = await api.client.createGroup('short-lived')
    const notify = () =>
      api.call('/push/notify', {
        headers: { group_id: String(group_id) },
        body: { audience: 'all', message: { title: 'x' } },
      })
    expect((await notify()).code).toBe(200)
    await api.client.removeGroup(group_id)
    expect((await notify()).code).toBe(40401)
  })

  it('limit what an admin acting for them may access', async () => {
    const { group_id } = await api.client.createGroup('blue')
    const { group_id: red } = await api.client.createGroup('red')
    const group = api.client.asGroup(group_id)
    const inside = await group.createUser({ username: 'inside', password: 'password' })
    const outside = await api.client.createUser({ username: 'outside', password: 'password' })
    const phone = await api.client.login('inside', 'password', 'inside-phone')
    const foreign = await api.client.login('outside', 'password', 'outside-phone')
    expect((await group.users()).list.map((user) => user.username)).toEqual(['inside'])
    expect((await group.devices()).list.map((device) => device.device_guid)).toEqual(['inside-phone'])
    await expect(group.removeUser(outside.user_id)).rejects.toMatchObject({ code: 40401 })
    await expect(group.changePassword(outside.user_id, 'x-password')).rejects.toMatchObject({ code: 40401 })
    await expect(group.members(red)).rejects.toMatchObject({ code: 40401 })
    expect((await group.members(group_id)).list).toHaveLength(1)

    const mine = await group.notify({
      audience: 'all',
      setting: { distribution_strategy: 'nativepush_only' },
      message: { title: 'x' },
    })
    const theirs = await api.client.notify({ audience: 'all', message: { title: 'x' } })
    expect((await group.taskDetail([mine.task_id]))[0]).toMatchObject({ nativepush_target: 1 })
    expect(await group.taskDetail([theirs.task_id])).toEqual([])
    await expect(group.cancelTask(theirs.task_id)).rejects.toMatchObject({ code: 40401 })
    expect((await group.taskList()).list.map((task) => task.task_id)).toEqual([mine.task_id])
    expect(await group.explain({ message: { title: 'x' } }, phone.push_token!)).toHaveProperty('channel')
    await expect(group.explain({ message: { title: 'x' } }, foreign.push_token!)).rejects.toMatchObject({
      code: 40401,
    })
    const asGroup = (path: string, body: object) =>
      api.call(path, { headers: { group_id: String(group_id) }, body })
    const { task_id } = theirs
    for (const verb of ['channels', 'request', 'failures', 'pause', 'resume']) {
      const { code } = await asGroup(`/push/task/${verb}`, { task_id })
      expect([verb, code]).toEqual([verb, 40401])
    }
    expect((await asGroup('/push/task/recall', { task_id, dry_run: true })).code).toBe(40401)
    expect((await asGroup('/push/audience/count', { audience: 'all' })).data).toMatchObject({ devices: 1 })
    expect((await asGroup('/admin/device/remove', { device_guid: 'outside-phone' })).code).toBe(40401)
    await expect(group.certificates()).rejects.toMatchObject({ code: 40301 })
    await expect(group.changePassword(inside.user_id, 'new-password')).resolves.toBeUndefined()
  })
})

describe('devices', () => {
  it('are found by every key, alone and together', async () => {
    const found = await api.createApplication('find')
    const herald = new HeraldServer({ baseUrl: api.url, appId: found.appId, token: found.token })
    const { user_id } = await herald.createUser({ username: 'u', password: 'password' })
    await herald.importDevices([
      {
        device_guid: 'a',
        platform: 'android',
        user_id,
        alias: 'x',
        tags: ['t1', 't2'],
        bindings: [{ provider: 2, device_token: 'tok-a' }],
      },
      { device_guid: 'b', platform: 'ios', alias: 'x', tags: ['t1'] },
      { device_guid: 'c', platform: 'harmony', tags: ['t2'] },
    ])
    const guids = async (filter: object) =>
      (await herald.devices(filter)).list.map((device) => device.device_guid).sort()
    expect(await guids({})).toEqual(['a', 'b', 'c'])
    expect(await guids({ alias: 'x' })).toEqual(['a', 'b'])
    expect(await guids({ tag: 't2' })).toEqual(['a', 'c'])
    expect(await guids({ user_id })).toEqual(['a'])
    expect(await guids({ token: 'tok-a' })).toEqual(['a'])
    expect(await guids({ device_guid: 'b' })).toEqual(['b'])
    expect(await guids({ alias: 'x', tag: 't2' })).toEqual(['a'])
    expect(await guids({ alias: 'none' })).toEqual([])
    const [a] = (await herald.devices({ device_guid: 'a' })).list
    expect(await guids({ token: a!.push_token })).toEqual(['a'])
    expect(a).toMatchObject({
      user_id,
      platform: 'android',
      tags: ['t1', 't2'],
      online: false,
      bindings: [{ provider: 2, channel: 'huawei', environment: 1 }],
    })
    const first = await herald.devices({ limit: 2 })
    const second = await herald.devices({ limit: 2, after: first.next! })
    const ids = [...first.list, ...second.list].map((device) => Number(device.device_id))
    expect(ids).toHaveLength(3)
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
    expect(second.next).toBeNull()
  })
})

describe('the audit', () => {
  const entries = async (appId: string | null, actions: string[]) =>
    (
      await api.context.db.pool.query(
        `SELECT actor, action, detail FROM audit WHERE app_id IS NOT DISTINCT FROM $1 AND action = ANY ($2) ORDER BY id`,
        [appId, actions],
      )
    ).rows

  it('has every reading of a certificate with its secrets, and no other', async () => {
    const { appId, token } = await api.createApplication('read certificates')
    const call = (path: string, options: object = {}) => api.call(path, { appId, token, ...options })
    await call('/admin/push/certificate', {
      method: 'PUT',
      body: { provider: 2, app_id: '1', app_secret: 's' },
    })
    const { data } = await call('/admin/user', { body: { username: 'anna', password: 'password' } })
    await call('/push/certificate?provider=2', { headers: { user_id: String(data.user_id) } })
    expect(await entries(appId, ['certificate.read'])).toEqual([])
    await call('/push/certificate?provider=2')
    expect(await entries(appId, ['certificate.read'])).toEqual([
      {
        actor: 'admin',
        action: 'certificate.read',
        detail: { channel: 'huawei', environment: expect.anything(), region: 'cn', address: '127.0.0.1' },
      },
    ])
  })

  it('has logins of admins and failed logins, with the address and without what was typed', async () => {
    const { appId, appSecret, token } = await api.createApplication('logins')
    const { data } = await api.call('/admin/user', {
      appId,
      token,
      body: { username: 'anna', password: 'password' },
    })
    const logIn = (path: string, body: object) => api.call(path, { appId, token: null, body })
    await logIn('/token/user', { name: 'anna', password: 'typed-password' })
    await logIn('/token/user', { name: 'typed-name', password: 'typed-password' })
    await logIn('/token/admin', { app_secret: 'typed-secret' })
    await logIn('/token/admin', { app_secret: appSecret })
    const address = '127.0.0.1'
    expect(await entries(appId, ['login.failed', 'token.admin_refused', 'token.admin'])).toEqual([
      {
        actor: 'nobody',
        action: 'login.failed',
        detail: { user_id: String(data.user_id), address, count: 1 },
      },
      { actor: 'nobody', action: 'login.failed', detail: { address, count: 1 } },
      { actor: 'nobody', action: 'token.admin_refused', detail: { address, count: 1 } },
      { actor: 'admin', action: 'token.admin', detail: { address } },
    ])
  })
})

describe('the client', () => {
  it('fetches its token once, and again after it was revoked', async () => {
    const { appId, appSecret } = await api.createApplication('clients')
    let logins = 0
    const herald = new HeraldServer({
      baseUrl: `${api.url}/`,
      appId,
      appSecret,
      fetch: (url, init) => {
        if (String(url).endsWith('/token/admin')) logins++
        return fetch(url, init)
      },
    })
    await Promise.all([herald.users(), herald.groups(), herald.taskList()])
    expect(logins).toBe(1)
    await herald.revokeTokens()
    expect((await herald.users()).list).toEqual([])
    expect(logins).toBe(2)
  })

  it('turns failures into errors with their code', async () => {
    const failure = await api.client.cancelTask(9007199254740993n).catch((error) => error)
    expect(failure).toBeInstanceOf(HeraldError)
    expect(failure).toMatchObject({
      code: 40401,
      status: 404,
      message: 'The task 9007199254740993 does not exist.',
    })
    const elsewhere = new HeraldServer({
      baseUrl: api.url,
      appId: 'x',
      token: 'x',
      fetch: async () => new Response('<html>', { status: 502 }),
    })
    await expect(elsewhere.users()).rejects.toMatchObject({ code: 0, status: 502 })
  })
})

describe('the settings of the operator', () => {
  it('say how long tokens are valid, and whether pictures are fetched before a push is accepted', async () => {
    const own = await openTestApi({ env: { HERALD_TOKEN_DAYS: '2', HERALD_PROBE_ATTACHMENTS: 'on' } })
    try {
      const days = 2 * 86_400
      const before = Math.floor(Date.now() / 1000)
      const { data } = await own.call('/token/admin', { token: null, body: { app_secret: own.appSecret } })
      const after = Math.ceil(Date.now() / 1000)
      expect(data.expire).toBeGreaterThanOrEqual(before + days)
      expect(data.expire).toBeLessThanOrEqual(after + days)
      const message = { title: 'x', attachment_url: 'http://127.0.0.1/x.png' }
      const notify = (to: TestApi) => to.call('/push/notify', { body: { audience: 'all', message } })
      expect(await notify(own)).toMatchObject({
        code: 40002,
        message: 'message.attachment_url must not point to a private address.',
      })
      expect((await notify(api)).code).toBe(200)
    } finally {
      await own.close()
    }
  })
})
