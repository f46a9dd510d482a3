import { createLogger } from '@herald/telemetry'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createConsoleSessions } from '../src/auth/console-sessions.ts'
import { consoleRoutes } from '../src/console/routes.ts'
import { browserOf } from '../src/http/browser.ts'
import { comesFromElsewhere, mayUseSession } from '../src/http/same-origin.ts'
import { wireApi } from '../src/wire-api.ts'
import { operator, signIn, type TestBrowser } from './console-browser.ts'
import { freeLimits, OPERATOR_KEY, openTestApi, type TestApi } from './harness.ts'

let api: TestApi
let own: { app_id: string; app_secret: string }
let foreign: { appId: string; appSecret: string; token: string }
beforeAll(async () => {
  api = await openTestApi()
  own = { app_id: api.appId, app_secret: api.appSecret }
  foreign = await api.createApplication('foreign')
})
afterAll(() => api.close())

describe('signing in', () => {
  it('with the secret of an application opens a session of that application', async () => {
    const browser = await signIn(api, own)
    expect(browser.signIn.data).toEqual({
      role: 'application',
      app_id: api.appId,
      name: 'spec',
      simulated: [],
    })
    expect((await browser.call('/console/session', { appId: null })).data).toEqual(browser.signIn.data)
  })

  it('with the operator key opens a session of the operator', async () => {
    const browser = await signIn(api, operator)
    expect(browser.signIn.data).toEqual({ role: 'operator', simulated: [] })
    expect((await browser.call('/console/session', { appId: null })).data).toEqual({
      role: 'operator',
      simulated: [],
    })
  })

  it('says which vendors are simulated, and gives an application credentials for them', async () => {
    const { certificate, ...fields } = {
      appId: '1',
      appKey: '',
      appSecret: 'hidden',
      certificate: '',
      extra: {},
    }
    api.deps.simulation = {
      channels: ['huawei', 'meizu'],
      makeCertificate: async () => ({ ...fields, certificate }),
    }
    const { appId, token } = await api.createApplication('newcomer')
    await api.call('/admin/push/certificate', {
      method: 'PUT',
      appId,
      token,
      body: { provider: 2, name: 'own', app_id: '7', app_secret: 'hidden-secret' },
    })
    const browser = await signIn(api, operator)
    expect(browser.signIn.data).toEqual({ role: 'operator', simulated: ['huawei', 'flyme'] })
    const add = (appId: string | null) => browser.call('/console/simulated-credentials', { appId, body: {} })
    expect((await add(null)).code).toBe(40005)
    expect((await add(appId)).data).toEqual({ channels: ['flyme'] })
    expect((await add(appId)).data).toEqual({ channels: [] })
    const { data } = await browser.call('/admin/push/certificate/list', { appId })
    expect(data.map(({ name }: { name: string }) => name).sort()).toEqual(['Simulated flyme', 'own'])
    api.deps.simulation = undefined
    expect((await add(foreign.appId)).data).toEqual({ channels: [] })
  })

  it('tells the operator the application of a task, and an application only its own', async () => {
    const { data } = await api.call('/push/notify', {
      body: { audience: { alias: ['nobody'] }, message: { title: 'x' } },
    })
    const asked = `/console/task?task_id=${data.task_id}`
    const all = await signIn(api, operator)
    expect((await all.call(asked, { appId: null })).data).toEqual({ app_id: api.appId })
    expect((await all.call('/console/task?task_id=7', { appId: null })).data).toEqual({ app_id: null })
    const mine = await signIn(api, own)
    expect((await mine.call(asked)).data).toEqual({ app_id: api.appId })
    const theirs = await signIn(api, { app_id: foreign.appId, app_secret: foreign.appSecret })
    expect((await theirs.call(asked, { appId: foreign.appId })).data).toEqual({ app_id: null })
  })

  it('sets a cookie that scripts cannot read and other sites cannot send', async () => {
    const { signIn: answer } = await signIn(api, operator)
    expect(answer.headers.get('set-cookie')).toMatch(
      /^herald_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    )
  })

  it('is refused with the same message whatever is wrong, and sets no cookie', async () => {
    const wrong = [
      { app_id: api.appId, app_secret: 'wrong' },
      { app_id: 'unknown', app_secret: api.appSecret },
      { app_id: foreign.appId, app_secret: api.appSecret },
    ]
    for (const credentials of wrong) {
      const { signIn: answer } = await signIn(api, credentials)
      expect(answer).toMatchObject({
        status: 401,
        code: 40103,
        message: 'The sign-in failed: the app_id or the app_secret is wrong.',
      })
      expect(answer.headers.get('set-cookie')).toBeNull()
    }
    expect((await signIn(api, { operator_key: `${OPERATOR_KEY}x` })).signIn.code).toBe(40103)
  })

  it('says which fields it needs', async () => {
    for (const body of [{}, { app_id: 'a' }, { ...operator, ...own }, { operator_key: '' }])
      expect(await api.call('/console/session', { token: null, appId: null, body })).toMatchObject({
        code: 40002,
        message: 'The body must have either operator_key, or app_id and app_secret.',
      })
    expect(
      (await api.call('/console/session', { token: null, appId: null, body: { operator: 'x' } })).code,
    ).toBe(40001)
  })

  it('is refused for a page of another site', async () => {
    for (const headers of [{ origin: 'https://elsewhere.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      const answer = await api.call('/console/session', {
        token: null,
        appId: null,
        headers: headers as unknown as Record<string, string>,
        body: operator,
      })
      expect(answer).toMatchObject({ status: 403, code: 40303 })
      expect(answer.headers.get('set-cookie')).toBeNull()
    }
  })

  it('ends the session that the browser had', async () => {
    const first = await signIn(api, own)
    await first.call('/console/session', { appId: null, body: operator })
    expect((await first.call('/console/session', { appId: null })).code).toBe(40102)
  })
})

describe('failed sign-ins', () => {
  it('lock the address out after ten attempts, whatever was guessed', async () => {
    const locked = await openTestApi({ env: { HERALD_TRUSTED_PROXIES: '1' } })
    const attempt = (address: string, body: object) =>
      locked.call('/console/session', {
        token: null,
        appId: null,
        headers: { 'x-forwarded-for': address },
        body,
      })
    try {
      const answers = []
      for (let i = 0; i < 10; i++)
        answers.push(
          await attempt('10.0.0.1', i % 2 ? { operator_key: 'x' } : { app_id: `a${i}`, app_secret: 's' }),
        )
      expect(answers.map(({ code }) => code)).toEqual(Array(10).fill(40103))
      const refused = await attempt('10.0.0.1', operator)
      expect(refused).toMatchObject({ status: 429, code: 42902 })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60)
      expect((await attempt('10.0.0.2', operator)).code).toBe(200)
    } finally {
      await locked.close()
    }
  })

  it('are logged and audited', async () => {
    const lines: string[] = []
    const log = createLogger({ name: 'spec', destination: { write: (line) => void lines.push(line) } })
    const watched = await openTestApi({ overrides: { log } })
    try {
      await signIn(watched, { operator_key: 'typed-key' })
      await signIn(watched, { app_id: watched.appId, app_secret: 'typed-secret' })
      const { rows } = await watched.deps.db.pool.query(
        `SELECT actor, detail FROM audit WHERE action = 'console.sign_in_failed' ORDER BY id`,
      )
      const address = '127.0.0.1'
      expect(rows).toEqual([
        { actor: 'nobody', detail: { role: 'operator', address, count: 1 } },
        { actor: 'nobody', detail: { role: 'application', address, count: 1 } },
      ])
      const warnings = lines.filter((line) => line.includes('a sign-in failed'))
      expect(warnings).toHaveLength(2)
      expect(lines.join()).not.toContain('typed-')
    } finally {
      await watched.close()
    }
  })

  it('share the rate of all logins', async () => {
    const slow = await openTestApi({
      overrides: { limits: { ...freeLimits(), login: { take: () => 7, giveBack() {} } } },
    })
    try {
      const { signIn: answer } = await signIn(slow, operator)
      expect(answer.code).toBe(42901)
      expect(answer.headers.get('retry-after')).toBe('7')
    } finally {
      await slow.close()
    }
  })
})

describe('wrong operator keys as a bearer token', () => {
  let guessed: TestApi
  const lines: string[] = []
  beforeAll(async () => {
    const log = createLogger({
      name: 'spec',
      level: 'warn',
      destination: { write: (line) => void lines.push(line) },
    })
    guessed = await openTestApi({ env: { HERALD_TRUSTED_PROXIES: '1' }, overrides: { log } })
  })
  afterAll(() => guessed.close())

  const call = (address: string, key: string, method = 'GET', path = '/admin/app/list') =>
    guessed.call(path, {
      method,
      token: null,
      appId: null,
      headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': address },
      ...(method === 'GET' ? {} : { body: {} }),
    })

  it.each([
    ['GET', '/admin/app/list'],
    ['POST', '/admin/app'],
    ['POST', '/admin/app/secret'],
    ['GET', '/queues/'],
    ['GET', '/console/overview'],
    ['GET', '/console/session'],
    ['DELETE', '/console/session'],
  ])('lock the address out of %s %s after ten, also with the right key', async (method, path) => {
    lines.length = 0
    const address = `10.1.${method.length}.${path.length}`
    for (let i = 0; i < 10; i++) expect((await call(address, `guess ${i}`, method, path)).code).toBe(40102)
    for (const key of ['guess 10', OPERATOR_KEY]) {
      const refused = await call(address, key, method, path)
      expect(refused).toMatchObject({ status: 429, code: 42902 })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60)
    }
    expect(lines).toHaveLength(10)
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({ level: 'warn', address })
      expect(line).not.toContain('guess')
    }
    const { rows } = await guessed.deps.db.pool.query(
      `SELECT DISTINCT actor, app_id, detail - 'count' AS detail, sum((detail ->> 'count')::int) OVER ()::int AS n FROM audit
       WHERE action = 'operator.refused' AND detail->>'address' = $1`,
      [address],
    )
    expect(rows).toEqual([{ actor: 'nobody', app_id: null, detail: { address }, n: 10 }])
    expect((await call('10.9.9.9', OPERATOR_KEY)).code).toBe(200)
  })

  it('are counted together with failed sign-ins', async () => {
    const address = '10.2.0.1'
    const tryIn = (operator_key: string) =>
      guessed.call('/console/session', {
        token: null,
        appId: null,
        headers: { 'x-forwarded-for': address },
        body: { operator_key },
      })
    for (let i = 0; i < 5; i++) {
      expect((await call(address, 'x')).code).toBe(40102)
      expect((await tryIn('x')).code).toBe(40103)
    }
    expect((await tryIn(OPERATOR_KEY)).code).toBe(42902)
    await until(async () => (await call(address, OPERATOR_KEY)).code === 42902)
  })

  it('sent at once are not compared more often', async () => {
    const keys = Array.from({ length: 100 }, (_, i) => `guess ${i}`)
    const codes = (await Promise.all(keys.map((key) => call('10.3.0.1', key)))).map(({ code }) => code)
    expect(codes.filter((code) => code === 40102)).toHaveLength(10)
    expect(codes.filter((code) => code === 42902)).toHaveLength(90)
  })

  it('do not stop calls with the right key that are sent at once', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => call('10.4.0.1', OPERATOR_KEY)))
    expect(answers.every(({ code }) => code === 200)).toBe(true)
  })

  it('are made harder: a short key is accepted with a warning', async () => {
    const warnings = async (operatorKey: string) => {
      const { context } = guessed
      lines.length = 0
      const wired = await wireApi({
        ...context,
        log: guessed.deps.log,
        settings: { ...context.settings, operatorKey },
      })
      await wired.close()
      return lines.filter((line) => line.includes('HERALD_OPERATOR_KEY')).length
    }
    expect(await warnings('x'.repeat(31))).toBe(1)
    expect(await warnings('x'.repeat(32))).toBe(0)
  })
})

describe('the cookie', () => {
  it.each([
    ['a listener with TLS', {}, { encrypted: true }, {}, true],
    ['nothing', {}, {}, {}, false],
    ['a proxy that speaks TLS', { trustedProxies: 1 }, {}, { 'x-forwarded-proto': 'http, https' }, true],
    ['a proxy that does not', { trustedProxies: 1 }, {}, { 'x-forwarded-proto': 'https, http' }, false],
    ['a proxy that is not trusted', {}, {}, { 'x-forwarded-proto': 'https' }, false],
    ['a public address with TLS', { publicUrl: 'https://herald.example' }, {}, {}, true],
  ])('behind %s', (_name, wire, socket, headers, secure) => {
    const sent = new Map<string, string>()
    const response = { setHeader: (name: string, value: string) => sent.set(name, value) }
    browserOf({ trustedProxies: 0, ...wire }, { socket, headers } as never, response as never).setCookie('k')
    expect(sent.get('set-cookie')?.endsWith('; Secure')).toBe(secure)
  })
})

describe('a session of an application', () => {
  let browser: TestBrowser
  beforeAll(async () => {
    browser = await signIn(api, own)
  })

  it('replaces an admin token', async () => {
    const { task_id } = (
      await browser.call('/push/notify', { body: { audience: 'all', message: { title: 'x' } } })
    ).data
    expect((await browser.call('/push/task/list', { body: {} })).data.list[0].task_id).toBe(task_id)
    expect((await browser.call('/admin/push/certificate/list')).data).toEqual([])
  })

  it('acts as a user or for a group like an admin token', async () => {
    const { user_id } = (
      await browser.call('/admin/user', { body: { username: 'anna', password: 'password' } })
    ).data
    const acting = { headers: { user_id: String(user_id) }, body: {} }
    expect((await browser.call('/user/device/list', acting)).code).toBe(200)
    expect((await browser.call('/push/task/list', acting)).code).toBe(40301)
    expect((await browser.call('/user/device/list', { body: {} })).code).toBe(40301)
    expect((await browser.call('/push/task/list', { headers: { group_id: '1' }, body: {} })).code).toBe(40401)
    const both = { headers: { user_id: String(user_id), group_id: '1' }, body: {} }
    expect((await browser.call('/push/task/list', both)).code).toBe(40302)
  })

  it('has no access to other applications or the operator’s calls', async () => {
    const elsewhere = { appId: foreign.appId, body: {} }
    expect(await browser.call('/push/task/list', elsewhere)).toMatchObject({ status: 401, code: 40102 })
    expect((await browser.call('/admin/user/list', elsewhere)).code).toBe(40102)
    expect((await browser.call('/console/overview', { appId: foreign.appId })).code).toBe(40102)
    expect((await browser.call('/console/session', { appId: foreign.appId })).code).toBe(40102)
    expect((await browser.call('/admin/app/list', { appId: null })).code).toBe(40301)
    expect((await browser.call('/push/task/list', { appId: null, body: {} })).code).toBe(40005)
  })

  it('is ignored if there is an access-token, which needs no console header', async () => {
    const headers = { cookie: browser.cookie, origin: 'https://elsewhere.example' }
    const answer = await api.call('/push/task/list', {
      token: foreign.token,
      appId: foreign.appId,
      headers,
      body: {},
    })
    expect(answer.data.list).toEqual([])
    expect((await api.call('/push/task/list', { token: 'bad', headers, body: {} })).code).toBe(40102)
  })

  it('is ignored on anonymous routes, unless the console header is sent', async () => {
    const register = (guid: string, headers: Record<string, string>) =>
      api.call('/push/register', { token: null, headers, body: { device_guid: guid } })
    expect((await register('page', { cookie: browser.cookie })).code).toBe(200)
    expect((await register('stale', { cookie: 'herald_session=stale' })).code).toBe(200)
    expect(
      (await register('forged', { cookie: browser.cookie, 'x-herald-console': '1', origin: 'http://x' }))
        .code,
    ).toBe(40303)
  })
})

describe('a session of the operator', () => {
  it('has access to every application by its app_id, and to the operator’s calls', async () => {
    const browser = await signIn(api, operator)
    for (const appId of [api.appId, foreign.appId])
      expect((await browser.call('/push/task/list', { appId, body: {} })).code).toBe(200)
    expect((await browser.call('/push/task/list', { appId: 'unknown', body: {} })).code).toBe(40104)
    const names = (await browser.call('/admin/app/list', { appId: null })).data.map(
      ({ name }: { name: string }) => name,
    )
    expect(names).toEqual(expect.arrayContaining(['spec', 'foreign']))
  })

  it('is recorded as the operator in the audit', async () => {
    const browser = await signIn(api, operator)
    const group = await browser.call('/admin/group', { body: { name: 'by the operator' } })
    expect(group.code).toBe(200)
    await browser.call('/admin/push/certificate', {
      method: 'PUT',
      body: { provider: 2, app_id: '1', app_secret: 's' },
    })
    const { rows } = await api.deps.db.pool.query(
      `SELECT actor FROM audit WHERE action = 'certificate.save' AND app_id = $1`,
      [api.appId],
    )
    expect(rows).toEqual([{ actor: 'operator' }])
  })
})

describe('a request by cookie', () => {
  let browser: TestBrowser
  beforeAll(async () => {
    browser = await signIn(api, operator)
  })
  const post = (headers: Record<string, string>) =>
    api.call('/push/notify', {
      token: null,
      headers: { cookie: browser.cookie, ...headers },
      body: { audience: 'all', message: { title: 'forged' } },
    })

  it.each([
    ['without the header', {}],
    ['with another value of it', { 'x-herald-console': '0' }],
    ['from another site', { 'x-herald-console': '1', 'sec-fetch-site': 'cross-site' }],
    ['from another host of the site', { 'x-herald-console': '1', 'sec-fetch-site': 'same-site' }],
    ['from a link', { 'x-herald-console': '1', 'sec-fetch-site': 'none' }],
    ['from another origin', { 'x-herald-console': '1', origin: 'https://elsewhere.example' }],
    ['from another port', { 'x-herald-console': '1', origin: 'http://127.0.0.1:1' }],
    ['from a sandbox', { 'x-herald-console': '1', origin: 'null' }],
  ])('%s changes nothing', async (_name, headers) => {
    const before = await api.deps.db.pool.query('SELECT count(*)::int AS n FROM task')
    expect(await post(headers as Record<string, string>)).toMatchObject({ status: 403, code: 40303 })
    expect((await api.deps.db.pool.query('SELECT count(*)::int AS n FROM task')).rows).toEqual(before.rows)
  })

  it('needs the header on every call that is not anonymous', async () => {
    const cookie = { cookie: browser.cookie }
    for (const [method, path] of [
      ['GET', '/admin/app/list'],
      ['GET', '/console/session'],
      ['GET', '/console/overview'],
      ['DELETE', '/console/session'],
      ['GET', '/admin/push/certificate/list'],
    ] as const)
      expect((await api.call(path, { method, token: null, headers: cookie })).code).toBe(40303)
    expect((await browser.call('/console/session', { appId: null })).code).toBe(200)
  })

  it('is accepted with the header from the own origin, or if the browser sends no origin', async () => {
    expect((await post({ 'x-herald-console': '1' })).code).toBe(200)
    expect(
      (await post({ 'x-herald-console': '1', origin: api.url, 'sec-fetch-site': 'same-origin' })).code,
    ).toBe(200)
    expect((await post({ 'x-herald-console': '1', origin: 'http://127.0.0.1:9' })).code).toBe(200)
  })
})

describe('signing out', () => {
  it('clears the cookie and ends the session here and on other processes', async () => {
    const browser = await signIn(api, own)
    const key = browser.cookie.split('=')[1]!
    const other = createConsoleSessions(api.deps)
    const answer = await browser.call('/console/session', { method: 'DELETE', appId: null })
    expect(answer.headers.get('set-cookie')).toBe(
      'herald_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
    )
    expect(await other.find(key)).toBeUndefined()
    for (const call of [
      browser.call('/console/session', { appId: null }),
      browser.call('/push/task/list', { body: {} }),
      browser.call('/console/session', { method: 'DELETE', appId: null }),
    ])
      expect(await call).toMatchObject({ status: 401, code: 40102 })
  })

  it('is noticed soon by a process that had cached the session', async () => {
    const key = (await signIn(api, own)).cookie.split('=')[1]!
    const other = createConsoleSessions(api.deps)
    expect(await other.find(key)).toMatchObject({ role: 'application' })
    await api.deps.consoleSessions.close(key)
    await until(async () => (await other.find(key)) === undefined)
  })

  it('does not end other sessions', async () => {
    const [one, two] = [await signIn(api, own), await signIn(api, own)]
    await one.call('/console/session', { method: 'DELETE', appId: null })
    expect((await two.call('/console/session', { appId: null })).code).toBe(200)
  })
})

describe('a session', () => {
  it('is not in the database in usable form', async () => {
    const browser = await signIn(api, operator)
    const { rows } = await api.deps.db.pool.query('SELECT s::text AS text FROM console_session s')
    const key = browser.cookie.split('=')[1]!
    for (const { text } of rows) {
      expect(text).not.toContain(key)
      expect(text).not.toContain(Buffer.from(key).toString('hex'))
    }
  })

  it('expires', async () => {
    const browser = await signIn(api, own)
    await api.deps.db.pool.query(`UPDATE console_session SET expires_at = now()`)
    expect((await browser.call('/console/session', { appId: null })).code).toBe(40102)
    await signIn(api, own)
    const { rows } = await api.deps.db.pool.query('SELECT count(*)::int AS n FROM console_session')
    expect(rows).toEqual([{ n: 1 }])
  })

  it('ends with the admin tokens of its application', async () => {
    const browser = await signIn(api, { app_id: foreign.appId, app_secret: foreign.appSecret })
    await browser.call('/token/revoke', { appId: foreign.appId, body: {} })
    expect((await browser.call('/console/session', { appId: null })).code).toBe(40102)
  })

  it('of the operator ends with the operator key', async () => {
    const key = (await signIn(api, operator)).cookie.split('=')[1]!
    const rekeyed = createConsoleSessions({ ...api.deps, operatorKey: 'another-operator-key' })
    const without = createConsoleSessions({ ...api.deps, operatorKey: undefined })
    expect(await api.deps.consoleSessions.find(key)).toEqual({ role: 'operator' })
    expect(await rekeyed.find(key)).toBeUndefined()
    expect(await without.find(key)).toBeUndefined()
  })

  it('that does not exist is refused, whatever the cookie looks like', async () => {
    const codeOf = async (cookie: string) => {
      const headers = { cookie, 'x-herald-console': '1' }
      return (await api.call('/push/task/list', { token: null, headers, body: {} })).code
    }
    for (const cookie of [`herald_session=${'x'.repeat(43)}`, 'herald_session=%00', "herald_session='; DROP"])
      expect(await codeOf(cookie)).toBe(40102)
    for (const cookie of ['herald_session=', 'other=1', 'xherald_session=abc'])
      expect(await codeOf(cookie)).toBe(40101)
  })
})

describe('every call of the console', () => {
  it.each(consoleRoutes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s is for an admin or the operator, or is the sign-in',
    async (_name, route) => {
      const call = (headers: Record<string, string>, appId: string | null) =>
        api.call(route.path, {
          method: route.method.toUpperCase(),
          token: null,
          appId,
          headers,
          raw: route.method === 'get' ? undefined : '{"no such field":1}',
        })
      const open = route.access === 'visitor'
      const user = await api.user(`user of ${route.method} ${route.path}`)
      const refused = new Set([40005, 40101, 40102, 40104, 40301, 40302, 40303])
      const code = async (headers: Record<string, string>, appId: string | null = null) => {
        const answer = await call(headers, appId)
        return refused.has(answer.code) ? answer.code : undefined
      }
      expect(await code({})).toBe(open ? undefined : 40101)
      expect(await code({ authorization: 'Bearer wrong' })).toBe(open ? undefined : 40102)
      expect(await code({ authorization: `Bearer ${OPERATOR_KEY}` })).toBeUndefined()
      expect(await code({ 'access-token': user.token }, api.appId)).toBe(open ? undefined : 40301)
      expect(await code({ 'access-token': api.adminToken }, api.appId)).toBeUndefined()
      expect(await code({ 'access-token': api.adminToken }, foreign.appId)).toBe(open ? undefined : 40102)
    },
  )
})

describe('the origin of a request', () => {
  const publicUrl = 'https://herald.example/'
  it.each([
    [{}, false],
    [{ origin: 'http://a:1', host: 'a:1' }, false],
    [{ origin: 'http://A:1', host: 'a:1' }, false],
    [{ origin: 'https://herald.example', host: 'inner:7100' }, false],
    [{ origin: 'http://herald.example', host: 'inner:7100' }, true],
    [{ origin: 'https://herald.example.evil', host: 'herald.example' }, true],
    [{ origin: 'http://a:2', host: 'a:1' }, true],
    [{ origin: 'http://a:1' }, true],
    [{ origin: 'null', host: 'null' }, true],
    [{ origin: '', host: 'a' }, true],
    [{ fetchSite: 'same-origin' }, false],
    [{ fetchSite: 'same-site' }, true],
    [{ fetchSite: 'none' }, true],
    [{ fetchSite: 'same-origin', origin: 'http://b', host: 'a' }, true],
  ])('%j', (from, elsewhere) => {
    expect(comesFromElsewhere(from, publicUrl)).toBe(elsewhere)
    expect(mayUseSession({ ...from, console: '1' }, publicUrl)).toBe(!elsewhere)
    expect(mayUseSession(from, publicUrl)).toBe(false)
  })

  it('may be a typed address for a page that only reads', () => {
    expect(mayUseSession({ fetchSite: 'none' }, publicUrl, true)).toBe(true)
    expect(mayUseSession({}, publicUrl, true)).toBe(true)
    expect(mayUseSession({ fetchSite: 'cross-site' }, publicUrl, true)).toBe(false)
  })
})
