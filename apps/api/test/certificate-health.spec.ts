import { createServer } from 'node:http'
import type { ChannelAdapter, CheckResult } from '@herald/channels'
import { adapters } from '@herald/channels/all'
import {
  closeCertificate,
  openBreaker,
  postponeProbe,
  recordFailedCheck,
  reopenCertificate,
  storeHold,
} from '@herald/db/certificates'
import { startOppoSimulator } from '@herald/simulators/oppo'
import { listen } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openTestApi, type TestApi } from './harness.ts'

let api: TestApi
let verdict: CheckResult = { ok: true }

/** The real OPPO adapter, except for the call to the vendor. */
const oppo: ChannelAdapter = {
  ...adapters.oppo!,
  open: () => ({ send: async () => {}, check: async () => verdict, close: async () => {} }),
}

beforeAll(async () => {
  api = await openTestApi({ certificateAdapters: { ...adapters, oppo } })
})
afterAll(() => api.close())

const record = {
  provider: 6,
  app_id: '3000001',
  app_key: 'sim-app-key',
  app_secret: 'sim-master-secret',
  extra: { classes: { service: { category: 'IM' }, marketing: { category: 'MARKETING' } } },
} as const

const save = () => api.client.putCertificate(record)
const check = () => api.client.checkCertificate(6)
const idOf = async (channel: string) => {
  const { rows } = await api.context.db.pool.query(
    'SELECT id::int FROM certificate WHERE app_id = $1 AND channel = $2',
    [api.appId, channel],
  )
  return rows[0].id as number
}
const shown = async () => (await api.client.certificates()).find(({ provider }) => provider === 6)!
const now = () => Math.floor(Date.now() / 1000)

describe('the list of certificates', () => {
  it('shows since when a closed one is refused and when it is checked next', async () => {
    await save()
    expect(await shown()).toMatchObject({
      state: 'open',
      first_refused_at: null,
      closed_at: null,
      next_probe_at: null,
      probes: 0,
      breaker: null,
      holds: [],
      check_error: null,
      warnings: [],
    })
    const id = await idOf('oppo')
    await closeCertificate(api.context.db, id, { code: 'oppo.16', text: 'the sign is wrong' })
    await postponeProbe(api.context.db, id, 3600, 'still wrong')
    const closed = await shown()
    expect(closed).toMatchObject({ state: 'closed', last_error: 'still wrong', probes: 1 })
    expect(closed.closed_at).toBe(closed.first_refused_at)
    expect(closed.next_probe_at! - closed.last_error_at!).toBe(3600)

    await save()
    await closeCertificate(api.context.db, id, { code: 'x', text: 'of the demo' }, { probed: false })
    expect(await shown()).toMatchObject({ state: 'closed', next_probe_at: null })
    await save()
  })

  it('shows a vendor that does not answer, and parts that it refuses', async () => {
    await save()
    const { db } = api.context
    const id = await idOf('oppo')
    const silence = { code: 'oppo.http', text: 'HTTP 503', pauses: [60], claimedAt: Date.now() }
    await openBreaker(db, { certificateId: id, ...silence })
    const hold = { kind: 'rejected', code: 'oppo.67', text: 'category error' } as const
    await storeHold(db, id, { ...hold, scope: 'class service', until: Date.now() + 600_000 })
    await storeHold(db, id, { ...hold, scope: 'channel chat', until: Date.now() - 60_000 })
    const until = Date.now() + 3_600_000
    await storeHold(db, id, {
      scope: 'quota MARKETING',
      kind: 'quota',
      code: 'oppo.33',
      text: 'used up',
      until,
    })
    const found = await shown()
    expect(found.breaker).toEqual({
      since: expect.any(Number),
      retry_at: expect.any(Number),
      code: 'oppo.http',
      reason: expect.stringContaining('HTTP 503'),
    })
    expect(found.breaker!.retry_at - found.breaker!.since).toBeGreaterThanOrEqual(59)
    expect(found.holds.map(({ scope, kind, active }) => [scope, kind, active])).toEqual([
      ['channel chat', 'rejected', false],
      ['class service', 'rejected', true],
      ['quota MARKETING', 'quota', true],
    ])
    expect(found.holds[1]).toMatchObject({ code: 'oppo.67', reason: '67 category error' })
    const time = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC'
    expect(found.warnings).toEqual(
      [
        `^OPPO has not answered since ${time}: .*HTTP 503\\. One batch is tried at ${time}; the others wait\\.$`,
        `^OPPO has refused messages of channel chat, first at ${time}: 67 category error\\. The next one is sent again\\.$`,
        `^OPPO has refused messages of class service since ${time}: 67 category error\\. They are not sent until ${time}; all others are\\.$`,
        `^The quota of OPPO for messages of MARKETING has been used up since ${time}: 33 used up\\. They take the device’s next channel, or wait, until ${time}; all others are sent\\.$`,
      ].map((pattern) => expect.stringMatching(new RegExp(pattern))),
    )
    verdict = { ok: true }
    await check()
    expect(await shown()).toMatchObject({ breaker: null, holds: [], warnings: [] })
  })

  it('warns about settings, also in the answer to the save', async () => {
    const saved = await api.client.putCertificate({ provider: 2, app_id: '1', app_secret: 's' })
    expect(saved.warnings).toContainEqual(
      expect.stringContaining('extra.classes.service.category is not set'),
    )
    const huawei = (await api.client.certificates()).find(({ provider }) => provider === 2)!
    expect(huawei.warnings).toEqual(saved.warnings)
    expect((await save()).warnings).toEqual([])
  })

  it('says that a record cannot be read', async () => {
    await api.context.db.pool.query(
      `UPDATE certificate SET sealed = sealed || '\\x00' WHERE app_id = $1 AND channel = 'huawei'`,
      [api.appId],
    )
    api.deps.certificates.forget(api.appId)
    const huawei = (await api.client.certificates()).find(({ provider }) => provider === 2)!
    expect(huawei.warnings[0]).toMatch(/^Nothing is sent with it: /)
    await api.client.removeCertificate(2)
  })
})

describe('the audit', () => {
  it('says who closed a certificate and who opened it again', async () => {
    await save()
    const { db } = api.context
    const id = await idOf('oppo')
    const newest = async () => {
      const { rows } = await db.pool.query(
        `SELECT actor, action, detail FROM audit WHERE app_id = $1 AND action IN ('certificate.closed', 'certificate.reopened')
         ORDER BY id DESC LIMIT 1`,
        [api.appId],
      )
      return rows[0]
    }
    await closeCertificate(db, id, { code: 'oppo.16', text: 'the sign is wrong' })
    expect(await newest()).toMatchObject({
      actor: 'herald',
      action: 'certificate.closed',
      detail: { channel: 'oppo', environment: 'production', code: 'oppo.16', text: 'the sign is wrong' },
    })
    verdict = { ok: true }
    await check()
    const reopened = await newest()
    expect(reopened).toMatchObject({ action: 'certificate.reopened', detail: { text: 'the sign is wrong' } })
    expect(reopened.actor).not.toBe('herald')

    await closeCertificate(db, id, { code: 'oppo.16', text: 'again' })
    await reopenCertificate(db, id, { onlyClosed: true })
    expect(await newest()).toMatchObject({ actor: 'herald', action: 'certificate.reopened' })
  })
})

describe('a failed check', () => {
  it('is a warning until a check succeeds or the certificate is saved, and closes nothing', async () => {
    await save()
    const warning = expect.stringMatching(/^The last check, at .* UTC, failed: the sign is wrong\.$/)
    verdict = { ok: false, problem: 'the sign is wrong', temporary: false }
    expect(await check()).toEqual({ ...verdict, code: null, simulator: false, warnings: [] })
    expect(await shown()).toMatchObject({
      state: 'open',
      last_error: null,
      check_error: 'the sign is wrong',
      warnings: [warning],
    })
    verdict = { ok: true, warnings: ['topic com.example.other: not allowed.'] }
    expect(await check()).toEqual({
      ok: true,
      problem: null,
      code: null,
      temporary: false,
      simulator: false,
      warnings: ['topic com.example.other: not allowed.'],
    })
    expect(await shown()).toMatchObject({ check_error: null, check_error_at: null, warnings: [] })

    verdict = { ok: false, problem: 'no reply', temporary: true }
    await check()
    const failed = await shown()
    expect(failed.warnings).toEqual([expect.stringContaining('no reply')])
    expect(Math.abs(failed.check_error_at! - now())).toBeLessThan(600)
    await save()
    expect((await shown()).warnings).toEqual([])
  })

  it('of credentials that were replaced since is not stored', async () => {
    await save()
    await recordFailedCheck(
      api.context.db,
      { id: await idOf('oppo'), version: 1 },
      { problem: 'of the old', refused: true },
    )
    expect(await shown()).toMatchObject({ check_error: null, warnings: [] })
  })
})

describe('a check', () => {
  it('tells whether a simulator answered', async () => {
    const simulator = await startOppoSimulator()
    // A gateway in front of the vendor: not its own address, but no simulator.
    const gateway = createServer((_, response) => response.writeHead(404).end('{}'))
    const gatewayUrl = `http://127.0.0.1:${await listen(gateway)}`
    const simulated = await openTestApi({ env: { HERALD_OPPO_URL: simulator.url } })
    const forwarded = await openTestApi({ env: { HERALD_OPPO_URL: gatewayUrl } })
    try {
      await simulated.client.putCertificate(record)
      expect(await simulated.client.checkCertificate(6)).toMatchObject({ ok: true, simulator: true })
      simulator.setFaults({ refuseAuth: true })
      await simulated.client.putCertificate(record)
      expect(await simulated.client.checkCertificate(6)).toMatchObject({ ok: false, simulator: true })
      const [refused] = await simulated.client.certificates()
      expect(refused!.warnings).toEqual([
        expect.stringMatching(/answered by a simulator, not by the vendor\)\.$/),
      ])
      await forwarded.client.putCertificate(record)
      expect(await forwarded.client.checkCertificate(6)).toMatchObject({ ok: false, simulator: false })
    } finally {
      await simulated.close()
      await forwarded.close()
      await simulator.close()
      gateway.close()
    }
  })
})

describe('explain', () => {
  it('notes what the vendor does not carry, refuses and leaves unanswered', async () => {
    await api.client.putCertificate({ provider: 2, app_id: '1', app_secret: 's' })
    await api.client.importDevices([
      {
        device_guid: 'mate',
        platform: 'android',
        bindings: [{ provider: 2, device_token: `IQAAAACy0pyr${'a'.repeat(90)}` }],
      },
    ])
    const [device] = (await api.client.devices({ device_guid: 'mate' })).list
    const explain = () =>
      api.client.explain(
        {
          message: { title: 'x' },
          setting: { distribution_strategy: 'ospush_only', message_class: 'service' },
        },
        device!.push_token,
      )
    const first = await explain()
    expect(first).toMatchObject({
      channel: 'huawei',
      notes: [expect.stringMatching(/^The message has no category, so Huawei treats it as marketing/)],
    })
    const id = await idOf('huawei')
    const silence = { code: 'huawei.http', text: 'HTTP 503', pauses: [60], claimedAt: Date.now() }
    await openBreaker(api.context.db, { certificateId: id, ...silence })
    const hold = { kind: 'rejected', code: 'huawei.80300010', text: 'not permitted' } as const
    await storeHold(api.context.db, id, { ...hold, scope: 'class service', until: Date.now() + 600_000 })
    await storeHold(api.context.db, id, { ...hold, scope: 'class old', until: Date.now() - 1000 })
    api.deps.certificates.forget(api.appId)
    expect((await explain()).notes).toEqual([
      ...first.notes,
      expect.stringMatching(/^Huawei has not answered since .*HTTP 503/),
      expect.stringMatching(/^Huawei has refused messages of class service since/),
    ])

    await closeCertificate(api.context.db, id, { code: 'huawei.x', text: 'wrong secret' })
    api.deps.certificates.forget(api.appId)
    expect(await explain()).toMatchObject({
      channel: 'huawei',
      reason: expect.stringMatching(/disabled since .* UTC: .*wrong secret.*next check at .* UTC/),
    })
  })

  it('says for each channel of the device what it does not carry and what has no room', async () => {
    await save()
    await api.client.putCertificate({
      provider: 8,
      app_id: '104',
      app_key: 'client',
      app_secret: 'secret',
    })
    await api.client.importDevices([
      {
        device_guid: 'two vendors',
        platform: 'android',
        bindings: [
          { provider: 6, device_token: `OPPO_CN_${'a'.repeat(32)}` },
          { provider: 8, device_token: 'h'.repeat(64) },
        ],
      },
    ])
    const [device] = (await api.client.devices({ device_guid: 'two vendors' })).list
    const { channel, notes, others } = await api.client.explain(
      {
        message: { title: 'x', body: 'B'.repeat(5000), foreground: 'hide' },
        setting: {
          distribution_strategy: 'ospush_only',
          ospush_sequence: ['oppo', 'honor'],
          message_class: 'service',
        },
      },
      device!.push_token,
    )
    const said = (vendor: string) => [
      `${vendor} has no option for foreground: the notification is also shown in front of the app.`,
      `${vendor} has no room for all of body: it is cut.`,
    ]
    expect(channel).toBe('oppo')
    expect(notes).toEqual(said('OPPO'))
    expect(others.find((other) => other.channel === 'honor')?.notes).toEqual(said('Honor'))
    expect(others.find((other) => other.channel === 'nativepush')?.notes).toEqual([])
  })
})
