import { adapters } from '@herald/channels/all'
import { createCertificateCache } from '@herald/plan'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { freeLimits, OPERATOR_KEY, openTestApi, type TestApi } from './harness.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi({ overrides: { limits: freeLimits() } })
})
afterAll(() => api.close())

const path = '/admin/app/settings'
const put = (body: object) => api.call(path, { method: 'PUT', body })
const defaults = {
  default_strategy: 'combined',
  default_ttl: 86_400,
  register: false,
  register_per_day: 10_000,
  caps: { per_device_per_day: null },
}

describe('the settings of an application', () => {
  it('have defaults; an absent field stays, null selects the default', async () => {
    const fresh = await api.createApplication('fresh')
    await api.context.db.pool.query('DELETE FROM application_setting WHERE app_id = $1', [fresh.appId])
    expect((await api.call(path, { appId: fresh.appId, token: fresh.token })).data).toEqual(defaults)
    const all = {
      default_strategy: 'ospush_only',
      default_ttl: 60,
      register: true,
      register_per_day: 5,
      caps: { per_device_per_day: 3 },
    }
    expect((await put(all)).data).toEqual(all)
    expect((await put({})).data).toEqual(all)
    expect((await put({ caps: {} })).data).toEqual({ ...all, caps: { per_device_per_day: null } })
    expect((await put({ caps: { per_device_per_day: 0 } })).data.caps).toEqual({ per_device_per_day: 0 })
    expect((await put({ default_ttl: 0, register: false })).data).toMatchObject({
      default_ttl: 0,
      register: false,
    })
    const blank = {
      default_strategy: '',
      default_ttl: null,
      register: null,
      register_per_day: null,
      caps: null,
    }
    expect((await put(blank)).data).toEqual(defaults)
    expect((await api.call(path)).data).toEqual(defaults)
  })

  it.each([
    [{ default_strategy: 'other' }, 40002],
    [{ default_ttl: -1 }, 40002],
    [{ default_ttl: 2_592_001 }, 40002],
    [{ register: 'yes' }, 40002],
    [{ register_per_day: 1.5 }, 40002],
    [{ caps: 3 }, 40002],
    [{ caps: { per_device_per_day: 256 } }, 40002],
    [{ caps: { per_user: 1 } }, 40001],
    [{ default_startegy: 'combined' }, 40001],
  ])('refuse %j', async (body, code) => {
    expect((await put(body)).code).toBe(code)
  })

  it('give strategy and ttl to pushes that name none, at once', async () => {
    await put({ default_strategy: 'ospush_only', default_ttl: 77 })
    const stored = async (setting?: object) => {
      const { data } = await api.call('/push/notify', {
        body: { audience: 'all', ...(setting && { setting }), message: { title: 'x' } },
      })
      const { rows } = await api.context.db.pool.query('SELECT strategy, ttl FROM task WHERE id = $1', [
        data.task_id,
      ])
      return rows[0]
    }
    expect(await stored()).toEqual({ strategy: 'ospush_only', ttl: 77 })
    expect(await stored({ distribution_strategy: '', ttl: null })).toEqual({
      strategy: 'ospush_only',
      ttl: 77,
    })
    expect(await stored({ distribution_strategy: 'combined', ttl: 0 })).toEqual({
      strategy: 'combined',
      ttl: 0,
    })
    await put({ default_strategy: null, default_ttl: null })
    expect(await stored()).toEqual({ strategy: 'combined', ttl: 86_400 })
  })

  it('are what explain uses', async () => {
    const { pushToken } = await api.user('anna', { guid: 'annas' })
    const explain = async () =>
      (await api.call('/push/explain', { body: { message: { title: 'x' }, push_token: pushToken } })).data
        .channel
    expect(await explain()).toBe('nativepush')
    await put({ default_strategy: 'ospush_only' })
    expect(await explain()).toBeNull()
    await put({ default_strategy: null })
    expect(await explain()).toBe('nativepush')
  })

  it('cap marketing messages of certificates without their own number', async () => {
    const { db, sealer } = api.context
    await api.client.putCertificate({ provider: 2, app_id: '100', app_secret: 's' })
    const own = { limits: { per_device_per_day: 9 } }
    await api.client.putCertificate({ provider: 8, app_id: '1', app_key: '2', app_secret: 's', extra: own })
    const caps = async (cache = createCertificateCache({ db, sealer, adapters })) => {
      const book = await cache.of(api.appId)
      return (['huawei', 'honor'] as const).map((channel) => {
        const found = book.serving(channel, 1)
        if ('problem' in found) throw new Error(found.problem.text)
        return ['marketing', 'service'].map(
          (name) => found.adapter.limits(found.settings, name as 'marketing').perDevicePerDay,
        )
      })
    }
    expect(await caps()).toEqual([
      [2, undefined],
      [9, undefined],
    ])
    await put({ caps: { per_device_per_day: 4 } })
    expect(await caps()).toEqual([
      [4, undefined],
      [9, undefined],
    ])
    // The process that made the change uses it at once.
    expect(await caps(api.deps.certificates as never)).toEqual([
      [4, undefined],
      [9, undefined],
    ])
    await put({ caps: { per_device_per_day: 0 } })
    expect(await caps()).toEqual([
      [undefined, undefined],
      [9, undefined],
    ])
    await put({ caps: null })
    expect(await caps()).toEqual([
      [2, undefined],
      [9, undefined],
    ])
  })

  it('change the stamp by which other processes notice', async () => {
    const { db, sealer } = api.context
    const elsewhere = createCertificateCache({ db, sealer, adapters })
    const before = await elsewhere.of(api.appId)
    elsewhere.forget(api.appId)
    const stamp = async () =>
      (await db.pool.query('SELECT xmin::text FROM application WHERE id = $1', [api.appId])).rows[0].xmin
    const first = await stamp()
    await put({ default_ttl: 5 })
    expect(await stamp()).not.toBe(first)
    expect(await elsewhere.of(api.appId)).not.toBe(before)
  })
})

describe('a rotated secret', () => {
  const rotate = async (appId: string, keep?: number) =>
    (
      await api.call('/admin/app/secret', {
        token: null,
        headers: { authorization: `Bearer ${OPERATOR_KEY}` },
        body: { app_id: appId, keep_old_seconds: keep },
      })
    ).data.app_secret as string
  const works = async (appId: string, ...secrets: string[]) => {
    const codes: number[] = []
    for (const app_secret of secrets)
      codes.push((await api.call('/token/admin', { appId, token: null, body: { app_secret } })).code)
    return codes
  }

  it('ends at once by default', async () => {
    const { appId, appSecret } = await api.createApplication('at-once')
    const next = await rotate(appId)
    expect(await works(appId, appSecret, next)).toEqual([40103, 200])
    expect(await works(appId, appSecret, await rotate(appId, 0))).toEqual([40103, 200])
  })

  it('stays good for keep_old_seconds, also for the console; the one before ends', async () => {
    const { appId, appSecret: first, token } = await api.createApplication('overlapping')
    const second = await rotate(appId, 3600)
    expect(await works(appId, first, second)).toEqual([200, 200])
    // Tokens end as without an overlap; a server gets a new one with either secret.
    expect((await api.call('/push/task/list', { appId, token, body: {} })).code).toBe(40102)
    for (const app_secret of [first, second]) {
      const signedIn = await fetch(`${api.url}/console/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-herald-console': '1' },
        body: JSON.stringify({ app_id: appId, app_secret }),
      })
      expect(signedIn.status).toBe(200)
    }
    // What the old secret opens ends with it.
    const lifeOf = async (app_secret: string) => {
      const { data } = await api.call('/token/admin', { appId, token: null, body: { app_secret } })
      return data.expire - Date.now() / 1000
    }
    expect(await lifeOf(first)).toBeLessThanOrEqual(3600)
    expect(await lifeOf(second)).toBeGreaterThan(86_400)
    const { rows } = await api.context.db.pool.query(
      `SELECT expires_at <= now() + interval '1 hour' AS short FROM console_session WHERE app_id = $1 ORDER BY expires_at`,
      [appId],
    )
    expect(rows).toEqual([{ short: true }, { short: false }])
    const third = await rotate(appId, 3600)
    expect(await works(appId, first, second, third)).toEqual([40103, 200, 200])
    const fourth = await rotate(appId)
    expect(await works(appId, first, second, third, fourth)).toEqual([40103, 40103, 40103, 200])
  })

  it('ends when the time is over, by the clock of the database', async () => {
    const { appId, appSecret } = await api.createApplication('over')
    const next = await rotate(appId, 86_400)
    const { rows } = await api.context.db.pool.query(
      `UPDATE application SET old_secret_until = now() WHERE id = $1
       RETURNING old_secret_hash IS NOT NULL AS kept`,
      [appId],
    )
    expect(rows).toEqual([{ kept: true }])
    expect(await works(appId, appSecret, next)).toEqual([40103, 200])
  })

  it('is returned to an admin of the application, for that application only', async () => {
    const [own, other] = [await api.createApplication('own'), await api.createApplication('other')]
    const rotate = (token: string, body: object) =>
      api.call('/admin/app/secret', { appId: own.appId, token, body })
    expect(await rotate(own.token, { app_id: other.appId })).toMatchObject({ code: 40301 })
    expect((await rotate(other.token, {})).code).toBe(40102)
    const { data } = await rotate(own.token, { keep_old_seconds: 60 })
    expect(data).toEqual({ app_id: own.appId, app_secret: expect.any(String) })
    expect(await works(own.appId, data.app_secret)).toEqual([200])
    const operator = { token: null, headers: { authorization: `Bearer ${OPERATOR_KEY}` } }
    for (const appId of ['', own.appId])
      for (const body of [{}, { app_id: '' }])
        expect((await api.call('/admin/app/secret', { ...operator, appId, body })).code).toBe(40002)
    const named = { user_id: '1', ...operator.headers }
    const refused = await api.call('/admin/app/secret', { ...operator, headers: named, body: {} })
    expect(refused.code).toBe(40002)
  })

  it.each([-1, 86_401, 1.5, '3600', true])('is not kept for %j seconds', async (keep_old_seconds) => {
    const { code } = await api.call('/admin/app/secret', {
      token: null,
      headers: { authorization: `Bearer ${OPERATOR_KEY}` },
      body: { app_id: api.appId, keep_old_seconds },
    })
    expect(code).toBe(40002)
  })
})
