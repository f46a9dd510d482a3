import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChannelAdapter, CheckResult } from '@herald/channels'
import { adapters } from '@herald/channels/all'
import { addAnswers, closeCertificate, takePermits } from '@herald/db/certificates'
import { newSigningKey } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createUploadCheck } from '../src/certificates/upload-check.ts'
import { openTestApi, type TestApi } from './harness.ts'

let api: TestApi
let user: { userId: number; token: string; pushToken: string }
let verdict: CheckResult | Error = { ok: true }
let expires: number | undefined

/** The real OPPO adapter, except for the call to the vendor. */
const oppo: ChannelAdapter = {
  ...adapters.oppo!,
  open: () => ({
    send: async () => {},
    check: async () => {
      if (verdict instanceof Error) throw verdict
      return verdict
    },
    close: async () => {},
  }),
  expiresAt: () => expires,
}

beforeAll(async () => {
  api = await openTestApi({ certificateAdapters: { ...adapters, oppo } })
  user = await api.user('anna', { guid: 'phone' })
})
afterAll(() => api.close())

const put = (body: object) => api.call('/admin/push/certificate', { method: 'PUT', body })
const get = (query: string, options: object = {}) => api.call(`/push/certificate?${query}`, options)

const record = {
  provider: 6,
  name: 'OPPO live',
  app_id: '30000001',
  app_key: 'oppo-app-key',
  app_secret: 'the-master-secret-of-oppo',
  extra: {
    client_app_secret: 'the-client-secret',
    channel_id: 'news',
    classes: { service: { category: 'IM' }, marketing: { category: 'MARKETING' } },
  },
}

describe('a certificate', () => {
  it('is saved, readable by an admin, and encrypted at rest', async () => {
    expect((await get('provider=6')).code).toBe(40401)
    const saved = await put(record)
    expect(saved.data).toMatchObject({ provider: 6, environment: 1, expires_at: null })
    expect(saved.data.callback_url).toMatch(
      new RegExp(`^http://127.0.0.1:9/callback/oppo/${api.appId}/[\\w-]{22}$`),
    )
    expect((await get('provider=6')).data).toEqual({
      app_id: record.app_id,
      app_key: record.app_key,
      app_secret: record.app_secret,
      certificate: '',
      name: record.name,
    })
    expect((await get('provider=6&environment=1')).code).toBe(200)
    expect((await get('provider=6&environment=0')).code).toBe(40401)
    const { rows } = await api.context.db.pool.query('SELECT * FROM certificate')
    expect(JSON.stringify(rows)).not.toContain('secret')
    expect(rows[0].sealed.includes('secret')).toBe(false)
  })

  it('shows a user no secret except OPPO’s client secret', async () => {
    const { data } = await get('provider=6', { token: user.token })
    expect(data).toEqual({
      app_id: record.app_id,
      app_key: record.app_key,
      app_secret: 'the-client-secret',
      certificate: '',
      name: record.name,
    })
    expect((await get('provider=6', { headers: { user_id: String(user.userId) } })).data).toEqual(data)
    await put({
      provider: 3,
      app_id: '2882',
      app_key: '5',
      app_secret: 'xiaomi-secret',
      extra: { package_name: 'com.a.b' },
    })
    expect((await get('provider=3', { token: user.token })).data.app_secret).toBe('')
    await put({ ...record, provider: 6, environment: 0, extra: {} })
    expect((await get('provider=6&environment=0', { token: user.token })).data.app_secret).toBe('')
  })

  it('is listed with masked secrets and warnings', async () => {
    expires = Date.now() + 29 * 86_400_000
    await put(record)
    const { data, text } = await api.call('/admin/push/certificate/list')
    expect(text).not.toMatch(/the-master-secret|the-client-secret|xiaomi-secret/)
    const shown = data.find(
      (entry: { provider: number; environment: number }) => entry.provider === 6 && entry.environment === 1,
    )
    expect(shown).toMatchObject({
      channel: 'oppo',
      app_id: record.app_id,
      app_secret: '****oppo',
      certificate: '',
      extra: { client_app_secret: '****cret', channel_id: 'news' },
      state: 'open',
      last_error: null,
    })
    expect(shown.callback_url).toContain('/callback/oppo/')
    expect(shown.warnings).toEqual([expect.stringMatching(/^The certificate expires on \d{4}-\d\d-\d\d\.$/)])
    const warnings = async () =>
      (await api.client.certificates()).find((entry) => entry.provider === 6 && entry.environment === 1)
        ?.warnings
    expires = Date.now() + 31 * 86_400_000
    await put(record)
    expect(await warnings()).toEqual([])
    await api.context.db.pool.query(`UPDATE certificate SET expires_at = now() - interval '1 day'`)
    expect(await warnings()).toEqual([expect.stringMatching(/^The certificate expired on /)])
    expires = Date.now() - 1000
    expect(await put(record)).toMatchObject({ code: 40002 })
    expires = undefined
  })

  it('is listed with the state of its governor', async () => {
    await put(record)
    const { rows } = await api.context.db.pool.query(
      `SELECT id FROM certificate WHERE app_id = $1 AND channel = 'oppo' AND environment = 1`,
      [api.appId],
    )
    const limits = { devicesPerSecond: 100, dailyQuota: 1000, timeZone: 'Asia/Shanghai' }
    const want = { requests: 1, devices: 60 }
    await takePermits(api.context.db, [
      { certificateId: rows[0].id, messageClass: 'marketing', want, limits },
    ])
    const shown = (await api.client.certificates()).find(
      (entry) => entry.provider === 6 && entry.environment === 1,
    )
    expect(shown).toMatchObject({
      usage: [{ message_class: 'marketing', day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), devices: 60 }],
    })
  })

  it('keeps its callback address when it is saved again, and gains a version', async () => {
    const before = (await put(record)).data
    const after = (await put(record)).data
    expect(after.callback_url).toBe(before.callback_url)
  })

  it('is validated, with a message that says what to do', async () => {
    const cases: [object, number, string][] = [
      [{ ...record, provider: 0 }, 40002, 'provider'],
      [{ ...record, environment: 5 }, 40002, 'environment'],
      [{ ...record, extra: { chanel_id: 'x' } }, 40002, 'extra.chanel_id'],
      [{ ...record, extra: [1] }, 40002, 'extra must be an object.'],
      [{ ...record, app_secret: '' }, 40002, 'app_secret'],
      [{ ...record, secret: 'x' }, 40001, 'secret is not a field of the body.'],
      [{ provider: 1, app_id: 'com.a.b', certificate: 'nonsense' }, 40002, 'certificate'],
      [{ provider: 2, app_secret: 's' }, 40002, 'app_id'],
      [{ provider: 7, certificate: '{}' }, 40002, ''],
      [{ ...record, name: 5 }, 40002, 'name must be a string.'],
    ]
    for (const [body, code, sentence] of cases) {
      const answer = await put(body)
      expect([JSON.stringify(body), answer.code, answer.message]).toEqual([
        JSON.stringify(body),
        code,
        expect.stringContaining(sentence),
      ])
    }
  })

  it('that the vendor accepts is opened again; one that it refuses keeps the reason', async () => {
    const check = () => api.call('/admin/push/certificate/check', { body: { provider: 6 } })
    const state = async () => {
      const { rows } = await api.context.db.pool.query(
        `SELECT id, state, last_error FROM certificate WHERE channel = 'oppo' AND environment = 1`,
      )
      return rows[0]
    }
    await closeCertificate(api.context.db, (await state()).id, { code: 'test', text: 'refused' })
    verdict = { ok: false, problem: 'the sign is wrong', temporary: false }
    expect((await check()).data).toEqual({
      ok: false,
      problem: 'the sign is wrong',
      code: null,
      temporary: false,
      simulator: false,
      warnings: [],
    })
    expect(await state()).toMatchObject({ state: 'closed', last_error: 'the sign is wrong' })
    verdict = new Error('socket hang up')
    expect((await check()).data).toMatchObject({ ok: false, temporary: true })
    expect(await state()).toMatchObject({ state: 'closed', last_error: 'the sign is wrong' })
    verdict = { ok: true }
    expect((await check()).data).toEqual({
      ok: true,
      problem: null,
      code: null,
      temporary: false,
      simulator: false,
      warnings: [],
    })
    expect(await state()).toMatchObject({ state: 'open', last_error: null })
    await closeCertificate(api.context.db, (await state()).id, { code: 'test', text: 'refused' })
    await put(record)
    expect(await state()).toMatchObject({ state: 'open', last_error: null })
    expect((await api.call('/admin/push/certificate/check', { body: { provider: 8 } })).code).toBe(40401)
  })

  describe('that is edited', () => {
    const now = async () => (await get('provider=6')).data
    const shown = async () =>
      (await api.client.certificates()).find((entry) => entry.provider === 6 && entry.environment === 1)!

    it('refuses secrets as the list shows them, and warns of fields that the vendor does not use', async () => {
      for (const [masked, name] of [
        [{ app_secret: '****' }, 'app_secret'],
        [{ extra: { client_app_secret: '****cret' } }, 'extra.client_app_secret'],
      ] as const)
        expect(await put({ ...record, ...masked })).toMatchObject({
          code: 40002,
          message: expect.stringMatching(new RegExp(`^${name} is masked`)),
        })
      const { data } = await put({ ...record, certificate: 'pasted' })
      expect(data.warnings).toContain('certificate is not used by OPPO; leave it blank.')
    })

    it('keeps the fields that are named, secrets included, and replaces the others', async () => {
      await put(record)
      const edited = { provider: 6, name: 'Renamed', app_key: 'new-key', extra: { channel_id: 'offers' } }
      const keep = ['app_id', 'app_secret', 'extra.client_app_secret', 'extra.badge']
      expect(await put({ ...edited, keep })).toMatchObject({ code: 200, data: { saved: true, check: null } })
      expect(await now()).toEqual({
        app_id: record.app_id,
        app_key: 'new-key',
        app_secret: record.app_secret,
        certificate: '',
        name: 'Renamed',
      })
      expect((await get('provider=6', { token: user.token })).data.app_secret).toBe('the-client-secret')
      expect((await shown()).extra).toEqual({ channel_id: 'offers', client_app_secret: '****cret' })
    })

    it('refuses a field that is kept and given, a name of no field, and a record that does not exist', async () => {
      for (const [body, code, sentence] of [
        [{ ...record, keep: ['app_secret'] }, 40002, 'keep: app_secret is also given.'],
        [{ ...record, keep: ['extra.channel_id'] }, 40002, 'keep: extra.channel_id is also given.'],
        [{ ...record, keep: ['secret'] }, 40002, 'keep'],
        [{ ...record, environment: 0, provider: 4, keep: ['certificate'] }, 40401, 'No development'],
        [{ ...record, extra: { region: 'intl' }, keep: ['certificate'] }, 40401, 'for the region intl'],
      ] as const)
        expect([body, await put(body)]).toMatchObject([
          body,
          { code, message: expect.stringContaining(sentence) },
        ])
    })

    it('is saved only if the vendor accepts it, when it is asked', async () => {
      await put(record)
      const version = async () => {
        const { rows } = await api.context.db.pool.query(
          `SELECT version FROM certificate WHERE app_id = $1 AND channel = 'oppo' AND environment = 1`,
          [api.appId],
        )
        return rows[0].version
      }
      const before = { record: await now(), version: await version() }
      const change = { ...record, app_secret: 'another-master-secret', check: true }
      verdict = { ok: false, problem: 'the sign is wrong', temporary: false }
      expect((await put(change)).data).toMatchObject({
        saved: false,
        check: { ok: false, problem: 'the sign is wrong', temporary: false },
      })
      verdict = new Error('socket hang up')
      expect((await put(change)).data).toMatchObject({ saved: false, check: { temporary: true } })
      expect({ record: await now(), version: await version() }).toEqual(before)
      expect((await shown()).check_error).toBeNull()
      verdict = { ok: true }
      expect((await put(change)).data).toMatchObject({ saved: true, check: { ok: true } })
      expect((await now()).app_secret).toBe('another-master-secret')
    })

    it('is not known to work until the vendor has accepted a check or a message', async () => {
      const { db } = api.context
      const certificate = async () => {
        const { rows } = await db.pool.query(
          `SELECT id, updated_at FROM certificate WHERE app_id = $1 AND channel = 'oppo' AND environment = 1`,
          [api.appId],
        )
        return rows[0]
      }
      await put(record)
      expect((await shown()).worked_at).toBeNull()
      await put({ ...record, check: true })
      expect((await shown()).worked_at).toEqual(expect.any(Number))
      await put(record)
      expect((await shown()).worked_at).toBeNull()
      await api.call('/admin/push/certificate/check', { body: { provider: 6 } })
      expect((await shown()).worked_at).toEqual(expect.any(Number))
      await put(record)
      const { id } = await certificate()
      const sent = { appId: api.appId, channel: 'oppo', certificateId: id, failed: 0, answered: 1 } as const
      // A worker may still use the credentials before the save.
      await addAnswers(db, new Map(), [{ ...sent, sent: 1, unanswered: 0 }])
      expect((await shown()).worked_at).toBeNull()
      await db.pool.query(`UPDATE certificate SET updated_at = now() - interval '1 minute' WHERE id = $1`, [
        id,
      ])
      await db.pool.query('DELETE FROM certificate_use WHERE certificate_id = $1', [id])
      await addAnswers(db, new Map(), [{ ...sent, sent: 0, unanswered: 1 }])
      expect((await shown()).worked_at).toBeNull()
      await addAnswers(db, new Map(), [{ ...sent, sent: 1, unanswered: 0 }])
      expect((await shown()).worked_at).toEqual(expect.any(Number))
    })
  })

  it('is removed', async () => {
    const remove = () => api.call('/admin/push/certificate/remove', { body: { provider: 6, environment: 0 } })
    expect((await remove()).data).toEqual({ removed: true })
    expect(await remove()).toMatchObject({
      code: 40401,
      message: 'No development certificate is saved for oppo.',
    })
    const { rows } = await api.context.db.pool.query(
      `SELECT DISTINCT action FROM audit WHERE app_id = $1 ORDER BY 1`,
      [api.appId],
    )
    expect(rows.map(({ action }) => action)).toEqual([
      'certificate.closed',
      'certificate.read',
      'certificate.remove',
      'certificate.reopened',
      'certificate.save',
      'user.create',
    ])
  })
})

describe('the callback address', () => {
  it('is missing, with a warning, without a public URL or when it would be too long', async () => {
    for (const [url, words] of [
      ['', 'HERALD_PUBLIC_URL is not set'],
      [`https://${'a'.repeat(60)}.example.com/herald`, 'HERALD_PUBLIC_URL is too long'],
    ] as const) {
      const other = await openTestApi({ env: { HERALD_PUBLIC_URL: url } })
      try {
        await other.call('/admin/push/certificate', { method: 'PUT', body: record })
        const [entry] = (await other.call('/admin/push/certificate/list')).data
        expect(entry.callback_url).toBeNull()
        expect(entry.warnings).toEqual([expect.stringContaining(words)])
      } finally {
        await other.close()
      }
    }
  })
})

describe('an uploaded file', () => {
  const upload = (certificate: string) => ({
    provider: 1,
    app_id: 'com.a.b',
    app_key: 'ABC123DEFG',
    app_secret: 'TEAM123456',
    certificate,
  })

  it('is read in a thread, with the same result as in this one', async () => {
    expect(await put(upload(newSigningKey()))).toMatchObject({ code: 200, data: { expires_at: null } })
    expect(await put(upload(newSigningKey().slice(0, 100)))).toMatchObject({
      code: 40002,
      message: expect.stringMatching(/^certificate is not a readable \.p8 key: .*lines\.$/),
    })
  })

  it('waits for at most seven others of its application', async () => {
    const uploads = createUploadCheck()
    const check = (application: string) =>
      uploads
        .check({
          id: 0,
          application,
          channel: 'huawei',
          environment: 'production',
          name: '',
          appId: '1',
          appKey: '',
          appSecret: 's',
          certificate: '{}',
          extra: {},
        })
        .catch((error) => error.code ?? error.message)
    const results = await Promise.all([...'aaaaaaaaaabbbbbbbbccccccccdddddddde'].map(check))
    expect(results.map((result) => (typeof result === 'number' ? result : 0))).toEqual([
      ...Array(8).fill(0),
      42901,
      42901,
      ...Array(24).fill(0),
      50301,
    ])
    expect(results[0]).toContain('service-account JSON without project_id')
    await uploads.close()
  })

  /** A thread that reads the file named "slow" until `released` exists. */
  const threadUntil = (released: string) =>
    new URL(
      `data:text/javascript,${encodeURIComponent(`
        import { existsSync } from 'node:fs'
        import { parentPort } from 'node:worker_threads'
        parentPort.on('message', ({ name }) => {
          while (name === 'slow' && !existsSync(${JSON.stringify(released)})) ;
          parentPort.postMessage({})
        })
        parentPort.postMessage({})`)}`,
    )

  it('does not stop other calls while it is read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'herald-upload-'))
    const released = join(folder, 'released')
    const uploads = createUploadCheck({ maxMs: 600_000, file: threadUntil(released) })
    const slow = await openTestApi({ overrides: { uploads } })
    try {
      const save = slow.call('/admin/push/certificate', {
        method: 'PUT',
        body: { ...upload(newSigningKey()), name: 'slow' },
      })
      for (let calls = 0; calls < 5; calls++)
        expect(await slow.call('/admin/push/certificate/list')).toMatchObject({ code: 200, data: [] })
      await writeFile(released, '')
      expect((await save).code).toBe(200)
    } finally {
      await slow.close()
      await rm(folder, { recursive: true })
    }
  })

  it('is refused when reading it takes too long, and the next one is read', async () => {
    const uploads = createUploadCheck({ file: threadUntil('/never') })
    const slow = await openTestApi({ overrides: { uploads } })
    try {
      const save = (name: string) =>
        slow.call('/admin/push/certificate', { method: 'PUT', body: { ...upload(newSigningKey()), name } })
      const [refused, next] = await Promise.all([save('slow'), save('fast')])
      expect(refused).toMatchObject({ code: 40002, message: 'certificate takes too long to read.' })
      expect(next.code).toBe(200)
    } finally {
      await slow.close()
    }
  })
})

describe('certificates of several regions', () => {
  const overseas = { ...record, name: 'OPPO overseas', app_key: 'overseas-key', extra: { region: 'intl' } }
  const post = (path: string, body: object) => api.call(`/admin/push/certificate/${path}`, { body })
  const listed = async (provider: number) =>
    (await api.client.certificates())
      .filter((entry) => entry.provider === provider && entry.environment === 1)
      .map(({ region, name }) => [region, name])

  it('are saved, read, checked and removed by region', async () => {
    verdict = { ok: true }
    expect((await put(record)).data).toMatchObject({ region: 'cn' })
    const { data: saved } = await put(overseas)
    expect(saved).toMatchObject({ provider: 6, environment: 1, region: 'intl' })
    expect(await listed(6)).toEqual([
      ['cn', 'OPPO live'],
      ['intl', 'OPPO overseas'],
    ])
    // Receipts of the two must not be confused.
    expect(saved.callback_url).not.toBe((await put(record)).data.callback_url)
    expect((await get('provider=6')).data.app_key).toBe('oppo-app-key')
    expect((await get('provider=6&region=cn')).data.app_key).toBe('oppo-app-key')
    expect((await get('provider=6&region=intl')).data.app_key).toBe('overseas-key')
    expect((await api.client.certificate(6, 1, 'intl')).app_key).toBe('overseas-key')

    verdict = { ok: false, problem: 'refused', temporary: false }
    expect(await api.client.checkCertificate(6, 1, 'intl')).toMatchObject({ ok: false })
    const errors = (await api.client.certificates())
      .filter(({ provider, environment }) => provider === 6 && environment === 1)
      .map(({ check_error }) => check_error !== null)
    expect(errors).toEqual([false, true])
    verdict = { ok: true }

    await api.client.removeCertificate(6, 1, 'intl')
    expect(await listed(6)).toEqual([['cn', 'OPPO live']])
    expect(await post('remove', { provider: 6, region: 'intl' })).toMatchObject({
      code: 40401,
      message: 'No production certificate for the region intl is saved for oppo.',
    })
    const { rows } = await api.context.db.pool.query(
      `SELECT action, detail ->> 'region' AS region FROM audit WHERE app_id = $1 ORDER BY id DESC LIMIT 1`,
      [api.appId],
    )
    expect(rows).toEqual([{ action: 'certificate.remove', region: 'intl' }])
  })

  it('are found without a region if there is one only', async () => {
    await api.client.removeCertificate(6)
    await put(overseas)
    expect((await get('provider=6')).data.app_key).toBe('overseas-key')
    expect((await get('provider=6&region=cn')).code).toBe(40401)
    await api.client.removeCertificate(6)
    expect(await listed(6)).toEqual([])
    await put(record)
  })

  it.each([
    { provider: 6, region: 'eu' },
    { provider: 3, region: 'cn' },
  ])('refuse %j', async (body) => {
    for (const path of ['check', 'remove']) expect((await post(path, body)).code).toBe(40002)
    expect((await get(`provider=${body.provider}&region=${body.region}`)).code).toBe(40002)
  })
})
