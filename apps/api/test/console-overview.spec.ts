import { addAnswers, type SentFigures } from '@herald/db/certificates'
import { joinNode } from '@herald/db/native'
import { readOverview, readSeries, readSettledTotal } from '@herald/db/readings'
import { ensurePartitions } from '@herald/db/store'
import { applyRetention } from '@herald/db/tasks'
import { isFailing } from '@herald/domain'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { operator, signIn, type TestBrowser } from './console-browser.ts'
import { OPERATOR_KEY, openTestApi, type TestApi } from './harness.ts'

type Entry = { channel: string } & Record<string, unknown>
const of = (list: Entry[], channel: string) => list.find((entry) => entry.channel === channel)!
const idle = { waiting: 0, active: 0, delayed: 0, causes: [], more: false, oldest_seconds: null }

describe('the overview of a known database', () => {
  let api: TestApi
  let other: { appId: string; appSecret: string; token: string }
  let everything: TestBrowser
  let own: TestBrowser
  beforeAll(async () => {
    api = await openTestApi()
    other = await api.createApplication('other')
    everything = await signIn(api, operator)
    own = await signIn(api, { app_id: api.appId, app_secret: api.appSecret })
    await fill()
  })
  afterAll(() => api.close())

  const sql = (text: string, values: unknown[] = []) => api.deps.db.pool.query(text, values)

  async function fill(): Promise<void> {
    await ensurePartitions(api.deps.db, Date.now() - 2 * 86_400_000)
    await api.client.putCertificate({ provider: 2, name: 'main', app_id: '1', app_secret: 'hidden-secret' })
    await api.client.putCertificate({ provider: 4, app_id: '1', app_key: 'k', app_secret: 'hidden-secret' })
    await api.call('/admin/push/certificate', {
      method: 'PUT',
      appId: other.appId,
      token: other.token,
      body: { provider: 2, app_id: '2', app_secret: 'hidden-secret' },
    })
    await sql(
      `UPDATE certificate SET state = 'closed', last_error = 'the key is wrong', expires_at = '2030-01-01Z'
       WHERE channel = 'meizu'`,
    )
    await sql(
      `INSERT INTO governor (certificate_id, class, requests, devices, refilled_at, day)
       SELECT id, 'service', -5, 0, now() + interval '1 hour', current_date FROM certificate WHERE app_id = $1 AND channel = 'huawei'`,
      [api.appId],
    )
    await sql(
      `INSERT INTO breaker (certificate_id, failures, retry_at, code, text)
       SELECT id, 1, now() + interval '1 hour', 'huawei.http', 'HTTP 503' FROM certificate WHERE app_id = $1 AND channel = 'huawei'`,
      [api.appId],
    )
    await sql(
      `INSERT INTO certificate_hold (certificate_id, scope, kind, code, text, until)
       SELECT id, scope, 'rejected', 'huawei.1', 'not permitted', until FROM certificate,
         (VALUES ('class service', now() + interval '1 hour'), ('class old', now() - interval '1 hour')) v (scope, until)
       WHERE app_id = $1 AND channel = 'huawei'`,
      [api.appId],
    )
    const task = (name: string, app: string, ago: string, state: string, more = '') =>
      sql(
        `INSERT INTO task (id, app_id, request_id, state, audience, strategy, sequence, message, lane, ttl, paused)
         VALUES (next_task_id() - (extract(epoch FROM $4::interval) * 1000)::bigint * 4096, $2, $1, $3, '{}', 'combined',
           '{}', '{}', 'high', 60, $5)`,
        [name, app, state, ago, more === 'paused'],
      )
    // In the future, so that they stay recent on a slow machine.
    await task('now', api.appId, '-30 minutes', 'sending')
    await task('paused', api.appId, '-31 minutes', 'sending', 'paused')
    await task('waiting', api.appId, '3 minutes', 'accepted')
    await task('hours ago', api.appId, '5 hours', 'finished')
    await task('long', api.appId, '3 hours', 'sending')
    await task('days ago', api.appId, '50 hours', 'finished')
    await task('other', other.appId, '-32 minutes', 'sending')
    for (const [name, channel, sent, received, failed] of [
      ['now', 'huawei', 10, 4, 1],
      ['now', 'native', 5, 5, 0],
      ['hours ago', 'huawei', 100, 40, 10],
      ['long', 'meizu', 1000, 0, 100],
      ['days ago', 'huawei', 7777, 7777, 7777],
      ['other', 'huawei', 20000, 1, 2],
    ])
      await sql(
        `INSERT INTO counter (task_id, channel, target, sent, received, failed)
         SELECT id, $2, 9, $3, $4, $5 FROM task WHERE request_id = $1`,
        [name, channel, sent, received, failed],
      )
    const batches = (name: string, channel: string, state: string, count: number, set = '') =>
      sql(
        `INSERT INTO batch (task_id, app_id, channel, certificate_id, node, lane, state, size, recipients, status, deadline,
           not_before, planned_at, released_at, lease_until)
         SELECT t.id, t.app_id, $2, (SELECT id FROM certificate c WHERE c.app_id = t.app_id AND c.channel = $2),
           CASE WHEN $2 = 'native' THEN 'node' END, 'high', $3, 1, ARRAY[n], '.', now() + interval '1 hour',
           now() - interval '1 second' ${set}, now() - interval '90 seconds', now(), now()
         FROM task t, generate_series(1, $4) n WHERE t.request_id = $1`,
        [name, channel, state, count],
      )
    await batches('now', 'huawei', 'ready', 3)
    await batches('now', 'huawei', 'ready', 2, `+ interval '1 hour'`)
    await batches('now', 'huawei', 'released', 4)
    await batches('now', 'huawei', 'sending', 5)
    await batches('now', 'huawei', 'settled', 50)
    await batches('now', 'native', 'released', 2)
    await batches('now', 'native', 'sending', 1)
    await batches('paused', 'huawei', 'held', 6)
    await batches('other', 'huawei', 'ready', 12_000)
    await batches('other', 'native', 'ready', 7)
    await joinNode(api.deps.db, 'node', 600)
    for (const [app, count] of [
      [api.appId, 3],
      [other.appId, 4],
    ])
      await sql(
        `WITH d AS (
           INSERT INTO device (app_id, guid, push_token) SELECT $1, 'g' || n, $1 || n FROM generate_series(1, $2::int) n
           RETURNING id)
         INSERT INTO presence (device_id, node, connection) SELECT id, 'node', id FROM d`,
        [app, count],
      )
  }

  it('shows an application only its own figures', async () => {
    const { data } = await own.call('/console/overview')
    expect(data).toMatchObject({
      sent_total: 1115,
      received_total: 49,
      failed_total: 111,
      native: { online: 3, estimated: false, gateways: 1 },
      tasks_open: 4,
      accepted_last_minute: 2,
    })
    expect(data.at).toBeGreaterThan(Date.now() / 1000 - 600)
    // The three that are due wait for the vendor too, because its breaker is open.
    expect(of(data.queues, 'huawei')).toEqual({
      channel: 'huawei',
      waiting: 4,
      active: 5,
      delayed: 11,
      causes: [
        { cause: 'waiting', devices: 4, batches: 4 },
        { cause: 'active', devices: 5, batches: 5 },
        { cause: 'silent', devices: 5, batches: 5 },
        { cause: 'paused', devices: 6, batches: 6 },
      ],
      more: false,
      oldest_seconds: expect.any(Number),
    })
    expect(of(data.queues, 'huawei').oldest_seconds).toBeGreaterThanOrEqual(90)
    expect(of(data.queues, 'nativepush')).toMatchObject({ waiting: 2, active: 1, delayed: 0, more: false })
    expect(of(data.queues, 'flyme')).toEqual({ channel: 'flyme', ...idle })
    expect(of(data.channels, 'huawei')).toEqual({
      channel: 'huawei',
      certificates: [
        {
          id: expect.any(Number),
          app_id: api.appId,
          environment: 1,
          region: null,
          name: 'main',
          state: 'open',
          reason: null,
          expires_at: null,
          throttled: true,
          breaker: {
            since: expect.any(Number),
            retry_at: expect.any(Number),
            code: 'huawei.http',
            reason: 'HTTP 503',
          },
          worked_at: null,
          held: ['class service'],
          failing: false,
        },
      ],
      state: 'failing',
      rate: 0,
      sent_1m: 0,
      failed_1m: 0,
      sent_10m: 0,
      failed_10m: 0,
      failing_share: null,
      last_error: null,
      last_sent_at: null,
    })
    // Only what workers report by the time of sending counts here, not the counters of open tasks.
    expect(of(data.channels, 'flyme')).toMatchObject({
      certificates: [{ state: 'closed', reason: 'the key is wrong', expires_at: 1_893_456_000 }],
      state: 'refused',
      sent_10m: 0,
    })
    expect(of(data.channels, 'nativepush')).toMatchObject({ state: 'unused', certificates: [] })
    expect(JSON.stringify(data)).not.toContain(other.appId)
    expect(JSON.stringify(data)).not.toMatch(/hidden|meizu|"native"[^:]/)
  })

  it('shows the operator the total, or the figures of one application', async () => {
    const { data } = await everything.call('/console/overview', { appId: null })
    expect(data).toMatchObject({
      sent_total: 21_115,
      received_total: 50,
      failed_total: 113,
      native: { online: 7, estimated: false, gateways: 1 },
      tasks_open: 5,
      accepted_last_minute: 3,
    })
    // Counting stops at ten thousand batches of a certificate.
    expect(of(data.queues, 'huawei')).toMatchObject({
      waiting: 10_004,
      active: 5,
      delayed: 11,
      more: true,
    })
    expect(of(data.queues, 'nativepush')).toMatchObject({ waiting: 9, active: 1 })
    expect((of(data.channels, 'huawei').certificates as unknown[]).length).toBe(2)
    const named = await everything.call('/console/overview', { appId: other.appId })
    expect(named.data).toMatchObject({ sent_total: 20_000, tasks_open: 1, native: { online: 4 } })
    expect(of(named.data.queues, 'huawei')).toMatchObject({ waiting: 10_000, more: true })
    expect((await everything.call('/console/overview', { appId: 'unknown' })).code).toBe(40104)
  })

  it('is available with tokens and keys, too', async () => {
    expect((await api.call('/console/overview')).data.sent_total).toBe(1115)
    const headers = { authorization: `Bearer ${OPERATOR_KEY}` }
    const { data } = await api.call('/console/overview', { token: null, appId: null, headers })
    expect(data.sent_total).toBe(21_115)
  })

  it('counts every task once, also one that ends between two reads', async () => {
    const { db } = api.deps
    const before = await readSettledTotal(db, api.appId)
    // Older than ten minutes and in progress: read every time.
    expect(before).toMatchObject({
      total: { sent: 100, received: 40, failed: 10 },
      open: [expect.any(Number)],
    })
    expect((await readOverview(db, api.appId, before)).total.sent).toBe(1115)
    await sql(`UPDATE counter SET sent = sent + 5 WHERE sent = 1000`)
    await sql(`UPDATE task SET state = 'finished' WHERE request_id = 'long'`)
    const after = await readSettledTotal(db, api.appId)
    expect(after).toMatchObject({ total: { sent: 1105, received: 40, failed: 110 }, open: [] })
    for (const settled of [before, after])
      expect((await readOverview(db, api.appId, settled)).total).toEqual({
        sent: 1120,
        received: 49,
        failed: 111,
      })
    for (const appId of [undefined, other.appId])
      expect((await readOverview(db, appId, await readSettledTotal(db, appId))).total.sent).toBe(
        appId === undefined ? 21_120 : 20_000,
      )
  })
})

describe('figures by the time of sending', () => {
  let api: TestApi
  let certificateId: number
  beforeAll(async () => {
    api = await openTestApi()
    await api.client.putCertificate({ provider: 5, app_id: '1', app_key: 'k', app_secret: 's' })
    const { rows } = await api.deps.db.pool.query('SELECT id FROM certificate')
    certificateId = rows[0].id
  })
  afterAll(() => api.close())

  const add = (figures: Partial<SentFigures>) =>
    addAnswers(api.deps.db, new Map(), [
      {
        appId: api.appId,
        channel: 'vivo',
        certificateId,
        sent: 0,
        failed: 0,
        answered: 0,
        unanswered: 0,
        ...figures,
      },
    ])
  const read = async (appId?: string) => {
    const { db } = api.deps
    return readOverview(db, appId, await readSettledTotal(db, appId))
  }
  /** Moves all that is stored into the past, instead of waiting. */
  const age = (minutes: number) =>
    api.deps.db.pool.query(
      `UPDATE channel_minute SET minute = minute - make_interval(mins => $1), sent_at = sent_at - make_interval(mins => $1),
         error_at = error_at - make_interval(mins => $1)`,
      [minutes],
    )

  it('are added up per certificate and for all applications', async () => {
    await add({ sent: 3, answered: 3 })
    await add({
      sent: 7,
      failed: 1,
      answered: 9,
      unanswered: 27,
      error: { code: 'vivo.http', text: 'HTTP 500' },
    })
    await addAnswers(api.deps.db, new Map([[certificateId, 4]]), [
      {
        appId: 'another',
        channel: 'vivo',
        certificateId: 900_000,
        sent: 5,
        failed: 0,
        answered: 5,
        unanswered: 0,
      },
    ])
    const own = (await read(api.appId)).figures
    expect(own.channels.get('vivo')).toMatchObject({
      sent: { minute: 10, tenMinutes: 10 },
      failed: { minute: 1, tenMinutes: 1 },
      tenMinutes: { answered: 12, unanswered: 27 },
      error: { code: 'vivo.http', text: 'HTTP 500' },
    })
    const all = (await read()).figures
    expect(all.channels.get('vivo')).toMatchObject({
      sent: { tenMinutes: 15 },
      tenMinutes: { answered: 17, unanswered: 27 },
      error: { code: 'vivo.http' },
    })
    expect([...all.attempts.keys()]).toEqual([certificateId])
    const tokens = await api.deps.db.pool.query('SELECT sum(answered)::int AS n FROM token_window')
    expect(tokens.rows).toEqual([{ n: 4 }])
  })

  it('show a vendor that answers nothing as failing, and the last error', async () => {
    const { data } = await api.call('/console/overview')
    expect(of(data.channels, 'vivo')).toMatchObject({
      state: 'failing',
      certificates: [{ state: 'open', failing: true }],
      failing_share: 27 / 39,
      last_error: { code: 'vivo.http', reason: 'HTTP 500', at: expect.any(Number) },
    })
  })

  it('leave the last minute and the last ten minutes as time passes, whatever is still open', async () => {
    await age(5)
    expect((await read(api.appId)).figures.channels.get('vivo')).toMatchObject({
      rate: 0,
      sent: { minute: 0, tenMinutes: 10 },
      minute: { answered: 0, unanswered: 0 },
    })
    expect(isFailing((await read(api.appId)).figures.channels.get('vivo')!)).toBe(true)
    // The vendor answers again: something was sent after its last error.
    await add({ sent: 2, answered: 2 })
    const after = (await read(api.appId)).figures.channels.get('vivo')!
    expect(after).toMatchObject({ minute: { answered: 2 }, tenMinutes: { unanswered: 27 }, recovered: true })
    expect(isFailing(after)).toBe(false)
    await age(12)
    const old = await read(api.appId)
    expect(old.figures.channels.get('vivo')).toBeUndefined()
    expect(old.lastSent.get('vivo')).toBeGreaterThan(Date.now() - 3_600_000)
  })

  it('make series, the present period included', async () => {
    const { db } = api.deps
    const sum = (list: readonly number[]) => list.reduce((all, n) => all + n, 0)
    for (const [range, periods] of [
      ['1h', 60],
      ['24h', 144],
    ] as const) {
      await age(range === '1h' ? 0 : 20)
      const { from, step, channels } = await readSeries(db, api.appId, range)
      expect(from % step).toBe(0)
      expect(channels).toHaveLength(1)
      expect(channels[0]).toMatchObject({ channel: 'vivo' })
      expect(channels[0]!.sent).toHaveLength(periods)
      expect([sum(channels[0]!.sent), sum(channels[0]!.failed)]).toEqual([12, 1])
    }
    expect((await readSeries(db, api.appId, '5m')).channels).toEqual([])
    // Parts of ten seconds.
    await db.pool.query('DELETE FROM channel_minute')
    await add({ sent: 6 })
    const recent = await readSeries(db, undefined, '5m')
    expect(recent.channels[0]!.sent.filter((n) => n > 0)).toEqual([6])
    const called = await api.call('/console/series?range=5m')
    expect(called.data.channels).toEqual([
      { channel: 'vivo', sent: expect.any(Array), failed: expect.any(Array) },
    ])
    expect((await api.call('/console/series?range=1y')).code).toBe(40002)
  })

  it('are deleted after 25 hours', async () => {
    const { db } = api.deps
    await age(24 * 60)
    await applyRetention(db, 30)
    expect((await db.pool.query('SELECT 1 FROM channel_minute')).rowCount).toBeGreaterThan(0)
    await age(61)
    await applyRetention(db, 30)
    expect((await db.pool.query('SELECT 1 FROM channel_minute')).rowCount).toBe(0)
  })
})

describe('the overview of many rows', () => {
  it('reads the large tables through their indexes', async () => {
    const api = await openTestApi()
    const { pool } = api.deps.db
    try {
      await api.client.putCertificate({ provider: 2, app_id: '1', app_secret: 's' })
      await pool.query(
        `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl)
         SELECT next_task_id() - 409600::bigint * n, $1, 'finished', '{}', 'combined', '{}', '{}', 'high', 0
         FROM generate_series(1, 5000) n ON CONFLICT DO NOTHING`,
        [api.appId],
      )
      await pool.query(
        `INSERT INTO counter (task_id, channel, target, sent) SELECT id, 'huawei', 1, 1 FROM task ON CONFLICT DO NOTHING`,
      )
      await pool.query(
        `INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline)
         SELECT id, app_id, 'huawei', (SELECT min(id) FROM certificate), 'high', CASE WHEN id % 3 = 0 THEN 'ready' ELSE 'settled' END,
           1, ARRAY[1], '.', now() FROM task`,
      )
      await pool.query(
        `INSERT INTO device (app_id, guid, push_token) SELECT $1, 'g' || n, 'p' || n FROM generate_series(1, 5000) n`,
        [api.appId],
      )
      await pool.query(`INSERT INTO presence SELECT id, 'node', id FROM device`)
      await pool.query('ANALYZE')
      const scans = async () => {
        const { rows } = await pool.query(
          `SELECT regexp_replace(relname, '_[0-9]{8}$', '') AS name, sum(seq_scan)::int AS scans FROM pg_stat_user_tables
           WHERE n_live_tup > 100 OR relname !~ '_[0-9]{8}$' GROUP BY 1`,
        )
        return Object.fromEntries(rows.map((row) => [row.name, row.scans]))
      }
      // Each connection reports its statistics with a delay; this forces the report.
      const report = async () => {
        const clients = await Promise.all(Array.from({ length: 10 }, () => pool.connect()))
        for (const client of clients) await client.query('SELECT pg_stat_force_next_flush()').catch(() => {})
        for (const client of clients) {
          await client.query('SELECT 1')
          client.release()
        }
      }
      await report()
      const before = await scans()
      for (const credentials of [operator, { app_id: api.appId, app_secret: api.appSecret }]) {
        const browser = await signIn(api, credentials)
        const answer = await browser.call('/console/overview', { appId: null })
        expect(answer.data.native.online).toBe(5000)
        expect(answer.data.sent_total).toBeGreaterThan(4900)
      }
      await report()
      const after = await scans()
      const watched = ['batch', 'counter', 'task', 'device', 'presence', 'channel_minute']
      expect(watched.map((name) => [name, after[name] - before[name]])).toEqual(
        watched.map((name) => [name, 0]),
      )
    } finally {
      await api.close()
    }
  })
})
