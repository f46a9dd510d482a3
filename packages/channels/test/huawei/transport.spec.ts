import type { Outcome } from '@herald/domain'
import { type HuaweiSimulator, startHuaweiSimulator } from '@herald/simulators/huawei'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type Certificate,
  isUnsupported,
  type Recipient,
  type Transport,
  type TransportDeps,
} from '../../src/channel.ts'
import { adapter as huawei } from '../../src/huawei/channel.ts'
import type { HuaweiPayload } from '../../src/huawei/payload.ts'
import { sampleCertificate, sampleDeps, sampleTask, sampleUrls } from '../samples.ts'
import { makeServiceAccount } from './service-account.ts'

const account = makeServiceAccount('388421841222000001')
const credentials = [
  {
    clientId: '100200300',
    clientSecret: 's3cr3t',
    projectId: account.projectId,
    serviceAccount: account.known,
  },
]

describe('huawei transport', () => {
  let simulator: HuaweiSimulator
  let sends: { path: string; headers: Readonly<Record<string, string>>; body: string }[]
  let opened: Transport<HuaweiPayload>[]

  const start = async (options: Parameters<typeof startHuaweiSimulator>[0] = {}) => {
    simulator = await startHuaweiSimulator({ credentials, onSend: (one) => sends.push(one), ...options })
  }

  beforeEach(() => {
    sends = []
    opened = []
  })
  afterEach(async () => {
    await Promise.all(opened.map((transport) => transport.close()))
    await simulator.close()
  })

  function open(certificate: Partial<Certificate> = {}, over: Partial<TransportDeps> = {}) {
    const settings = huawei.readSettings(
      sampleCertificate('huawei', { appId: '100200300', appSecret: 's3cr3t', ...certificate }),
    )
    const usual = { huawei: simulator.url, huaweiAuth: simulator.url }
    const deps = sampleDeps({ urls: sampleUrls(usual), ...over })
    const transport = huawei.open(settings, deps)
    opened.push(transport)
    return { settings, deps, transport }
  }

  async function send(...args: Parameters<typeof outcomesOf>) {
    return (await outcomesOf(...args)).map((outcome) => outcome?.kind)
  }

  async function outcomesOf(
    { settings, transport }: Pick<ReturnType<typeof open>, 'settings' | 'transport'>,
    recipients: Partial<Recipient>[],
    message: Parameters<typeof sampleTask>[0] = {},
  ) {
    const payload = huawei.mapPayload(sampleTask(message, { taskId: 7001 }), settings)
    if (isUnsupported(payload)) throw new Error(payload.unsupported)
    const outcomes: (Outcome | undefined)[] = recipients.map(() => undefined)
    await transport.send(
      payload,
      recipients.map((recipient, index) => ({ deviceId: index, token: `t${index}`, ...recipient })),
      {
        signal: new AbortController().signal,
        report(index, outcome) {
          expect(outcomes[index]).toBeUndefined()
          outcomes[index] = outcome
        },
      },
    )
    return outcomes
  }

  it('requests no access token for a minute after the token endpoint was busy, in no process', async () => {
    await start()
    let time = Date.now()
    const busy = open({}, { now: () => time })
    simulator.setFaults({ reply: { status: 503, body: '', path: '/oauth2/v3/token' } })
    const reason = { code: 'huawei.oauth_503', text: 'oauth 503 too many token requests' }
    expect(await outcomesOf(busy, [{}])).toEqual([{ kind: 'throttled', reason, minWait: 60 }])
    simulator.setFaults({})
    const other = open({}, { now: () => time, holds: busy.deps.holds })
    const before = simulator.requests()
    time += 20_000
    expect(await outcomesOf(other, [{}])).toEqual([
      { kind: 'throttled', reason, retryAfter: 40, minWait: 40 },
    ])
    expect(simulator.requests()).toBe(before)
    time += 40_000
    expect(await send(other, [{}])).toEqual(['accepted'])
  })

  it('requests none as long as Retry-After says, at most an hour', async () => {
    await start()
    let time = Date.now()
    const busy = open({}, { now: () => time })
    const headers = { 'retry-after': '86400' }
    simulator.setFaults({ reply: { status: 429, headers, body: '', path: '/oauth2/v3/token' } })
    const throttled = { kind: 'throttled', reason: { code: 'huawei.oauth_429' }, minWait: 60 }
    expect(await outcomesOf(busy, [{}])).toMatchObject([{ ...throttled, retryAfter: 3600 }])
    simulator.setFaults({})
    const before = simulator.requests()
    time += 3_000_000
    expect(await outcomesOf(busy, [{}])).toMatchObject([{ ...throttled, retryAfter: 600 }])
    expect(simulator.requests()).toBe(before)
    time += 600_000
    expect(await send(busy, [{}])).toEqual(['accepted'])
  })

  it('requests one for a check anyway', async () => {
    await start()
    const busy = open()
    simulator.setFaults({ reply: { status: 503, body: '', path: '/oauth2/v3/token' } })
    expect(await send(busy, [{}])).toEqual(['throttled'])
    expect(await check(busy.transport)).toMatchObject({ ok: false, temporary: true })
    simulator.setFaults({})
    expect(await check(busy.transport)).toEqual({ ok: true })
    expect(await send(busy, [{}])).toEqual(['throttled'])
  })

  it('lists a token once, however many recipients share it', async () => {
    await start()
    const kinds = await send(open(), [
      { token: 'a' },
      { token: 'ILLEGAL1' },
      { token: 'a' },
      { token: 'ILLEGAL1' },
    ])
    expect(kinds).toEqual(['accepted', 'gone', 'accepted', 'gone'])
    expect(JSON.parse(sends[0]!.body).message.token).toEqual(['a', 'ILLEGAL1'])
  })

  it('sends to the app in v1 and to the project in v2', async () => {
    await start()
    await send(open(), [{}])
    await send(open({ appKey: account.projectId }), [{}])
    expect(sends.map((one) => one.path)).toEqual([
      '/v1/100200300/messages:send',
      `/v2/${account.projectId}/messages:send`,
    ])
  })

  it('sends HarmonyOS devices through v3 and the others through v1 with credentials for both', async () => {
    await start()
    const both = open({ certificate: account.json })
    const kinds = await send(both, [{}, { harmony: true }, {}, { token: 'NORIGHT', harmony: true }])
    expect(kinds).toEqual(['accepted', 'accepted', 'accepted', 'rejected'])
    const tokens = Object.fromEntries(
      sends.map(({ path, body }) => [
        path.slice(1, 3),
        (JSON.parse(body).message ?? JSON.parse(body).target).token,
      ]),
    )
    expect(tokens).toEqual({ v1: ['t0', 't2'], v3: ['t1', 'NORIGHT'] })
    expect(sends.find((one) => one.path.startsWith('/v3'))?.headers['push-type']).toBe('0')
    expect(simulator.ledger(7001)).toEqual({ accepted: 3, distinct: 3, duplicates: 0 })
  })

  it('reports HarmonyOS devices as unsupported without a service account', async () => {
    await start()
    expect(await send(open(), [{ harmony: true }, {}])).toEqual(['unsupported', 'accepted'])
  })

  it('reports a version that cannot carry the message as unsupported and sends the other', async () => {
    await start()
    const both = open({ certificate: account.json })
    const message = { type: 'cmd', huawei: { harmonyPushType: 2 } } as const
    expect(await send(both, [{}, { harmony: true }], message)).toEqual(['accepted', 'unsupported'])
  })

  it('leaves out ext for the version that has no room for it only', async () => {
    await start()
    // Inside the data string of v1 a quote takes four bytes, in the data object of v3 two.
    const ext = JSON.stringify({ blob: '"'.repeat(1000) })
    const both = open({ certificate: account.json })
    expect(await send(both, [{}, { harmony: true }], { ext })).toEqual(['accepted', 'accepted'])
    const bodyOf = (version: string) => sends.find(({ path }) => path.startsWith(`/${version}`))!.body
    expect(bodyOf('v1')).not.toContain('blob')
    expect(bodyOf('v3')).toContain('blob')
  })

  it.each([2, 10] as const)(
    'sends push type %i, and as an alert if the app has no right to it',
    async (harmonyPushType) => {
      await start()
      const both = open({ certificate: account.json })
      const message = { huawei: { harmonyPushType } }
      expect(await send(both, [{ harmony: true }], message)).toEqual(['accepted'])
      expect(sends.map(({ headers }) => headers['push-type'])).toEqual([String(harmonyPushType)])

      simulator.setFaults({ rules: ['no_push_type_right'] })
      expect(await send(both, [{ harmony: true }], message)).toEqual(['accepted'])
      expect(sends.map(({ headers }) => headers['push-type']).slice(1)).toEqual([
        String(harmonyPushType),
        '0',
      ])
    },
  )

  it('reports a call without texts that the app has no right to', async () => {
    await start()
    simulator.setFaults({ rules: ['no_push_type_right'] })
    const both = open({ certificate: account.json })
    const message = { type: 'cmd', huawei: { harmonyPushType: 10 } } as const
    expect(await send(both, [{ harmony: true }], message)).toEqual(['rejected'])
  })

  it('asks for HIGH urgency if the message is urgent, and sends it again without', async () => {
    await start()
    expect(await send(open(), [{}], { type: 'cmd', urgent: true })).toEqual(['accepted'])
    const urgencies = sends.map(({ body }) => JSON.parse(body).message.android.urgency)
    expect(urgencies).toEqual(['HIGH', 'NORMAL'])
  })

  describe('withdrawal', () => {
    const task = sampleTask({}, { taskId: 7001 })

    async function withdraw(
      { settings, transport }: ReturnType<typeof open>,
      recipients: Partial<Recipient>[],
    ) {
      const payload = huawei.withdrawal!(task, settings)
      if (isUnsupported(payload)) throw new Error(payload.unsupported)
      const outcomes: (Outcome | undefined)[] = recipients.map(() => undefined)
      await transport.send(
        payload,
        recipients.map((recipient, index) => ({ deviceId: index, token: `t${index}`, ...recipient })),
        {
          signal: new AbortController().signal,
          report(index, outcome) {
            outcomes[index] = outcome
          },
        },
      )
      return outcomes.map((outcome) => outcome?.kind)
    }

    it('takes messages away from HarmonyOS, by the id that they were sent with', async () => {
      await start()
      const both = open({ certificate: account.json })
      const devices = [{}, { harmony: true }, { harmony: true }]
      await send(both, devices)
      expect(await withdraw(both, devices)).toEqual(['unsupported', 'accepted', 'accepted'])
      const { notifyId } = JSON.parse(sends.find(({ path }) => path.startsWith('/v3'))!.body).payload
        .notification
      expect(simulator.withdrawn(notifyId)).toEqual(['t1', 't2'])
      // A repeated withdrawal, as after a lost reply, is no failure.
      expect(await withdraw(both, devices)).toEqual(['unsupported', 'accepted', 'accepted'])
    })

    it('retires no token and closes nothing, whatever Huawei says', async () => {
      await start()
      const both = open({ certificate: account.json })
      expect(await withdraw(both, [{ harmony: true }])).toEqual(['rejected'])
      for (const code of ['80300007', '80300002', '80300037']) {
        simulator.setFaults({ reply: { status: 200, body: { code, msg: 'refused' }, path: '/v1' } })
        expect(await withdraw(both, [{ harmony: true }])).toEqual(['rejected'])
      }
    })

    it('needs a service account, the client id and a notification', async () => {
      await start()
      const problemOf = (certificate: Partial<Certificate>, message = {}) => {
        const payload = huawei.withdrawal!(sampleTask(message), open(certificate).settings)
        return isUnsupported(payload) ? payload.unsupported : undefined
      }
      expect(problemOf({})).toMatch(/service account/)
      expect(problemOf({ appId: '', appSecret: '', certificate: account.json })).toMatch(/client id/)
      expect(problemOf({ certificate: account.json }, { type: 'cmd' })).toMatch(/notifications only/)
      expect(problemOf({ certificate: account.json }, { huawei: { harmonyPushType: 10 } })).toMatch(/only/)
      expect(problemOf({ appSecret: '', certificate: account.json })).toBeUndefined()
    })
  })

  it('sends Android devices to v2 and HarmonyOS devices to v3 with a service account alone', async () => {
    await start()
    const alone = open({ appId: '', appSecret: '', certificate: account.json })
    // Real beginnings of tokens: the simulator refuses those of the other platform.
    const kinds = await send(alone, [{ token: 'IQAAAACy0A' }, { token: 'MAMzLgA', harmony: true }])
    expect(kinds).toEqual(['accepted', 'accepted'])
    const [v2, v3] = ['v2', 'v3'].map((version) => sends.find(({ path }) => path.startsWith(`/${version}`))!)
    expect(v2!.path).toBe(`/v2/${account.projectId}/messages:send`)
    expect(JSON.parse(v2!.body).message.token).toEqual(['IQAAAACy0A'])
    expect(JSON.parse(v3!.body).target.token).toEqual(['MAMzLgA'])
    expect(v2!.headers.authorization).toBe(v3!.headers.authorization)
    expect(alone.deps.mints()).toBe(1)
  })

  describe('with a version that refuses its credentials', () => {
    const refuse = (path: string, code = '80300002') =>
      simulator.setFaults({ reply: { status: 200, body: { code, msg: 'refused' }, path } })
    const devices = [{}, { harmony: true }, { harmony: true }]

    it.each(['80300002', '80300037'])('tries again for its devices alone after %s', async (code) => {
      await start()
      const both = open({ certificate: account.json })
      refuse('/v3/', code)
      const refused = { kind: 'unavailable', reason: { code: `huawei.${code}` }, maxSeconds: 600 }
      expect(await outcomesOf(both, devices)).toMatchObject([{ kind: 'accepted' }, refused, refused])
      expect(both.deps.holds.isEmpty()).toBe(true)
      simulator.setFaults({})
      expect(await send(both, devices)).toEqual(['accepted', 'accepted', 'accepted'])
    })

    it('asks the other version once, however many messages are refused', async () => {
      await start()
      const both = open({ certificate: account.json })
      refuse('/v3/')
      const before = simulator.requests()
      const harmony = () => outcomesOf(both, [{ harmony: true }])
      const outcomes = (await Promise.all(Array.from({ length: 20 }, harmony))).flat()
      for (let n = 0; n < 20; n++) outcomes.push(...(await harmony()))
      expect(outcomes).toHaveLength(40)
      for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: 'unavailable', maxSeconds: 600 })
      // One request per message, and for the question an access token and a probe.
      expect(simulator.requests() - before).toBe(40 + 2)
      expect(await send(both, [{}])).toEqual(['accepted'])
    })

    it('does not ask the other version while Huawei issues no access tokens', async () => {
      await start()
      const both = open({ certificate: account.json })
      simulator.setFaults({ reply: { status: 503, body: '', path: '/oauth2/v3/token' } })
      expect(await send(both, [{}])).toEqual(['throttled'])
      refuse('/v3/')
      const before = simulator.requests()
      expect(await send(both, [{ harmony: true }])).toEqual(['misconfigured'])
      expect(simulator.requests() - before).toBe(1)
    })

    it('asks the other version again after a minute', async () => {
      let now = Date.now()
      await start()
      const both = open({ certificate: account.json }, { now: () => now })
      refuse('/v3/')
      const requests = async () => {
        const before = simulator.requests()
        await send(both, [{ harmony: true }])
        return simulator.requests() - before
      }
      expect(await requests()).toBe(3)
      expect(await requests()).toBe(1)
      now += 61_000
      expect(await requests()).toBe(3)
    })

    it('tries again for Android alone if the secret is wrong', async () => {
      await start()
      const both = open({ appSecret: 'wrong', certificate: account.json })
      expect(await send(both, devices)).toEqual(['unavailable', 'accepted', 'accepted'])
    })

    it('reports the credentials as refused if the other version refuses or does not answer', async () => {
      await start()
      const both = open({ certificate: account.json })
      refuse('/v')
      expect(await send(both, devices)).toEqual(Array(3).fill('misconfigured'))
      expect(both.deps.holds.isEmpty()).toBe(true)
      const wrong = open({ appSecret: 'wrong', certificate: account.json })
      simulator.setFaults({ reply: { status: 503, path: '/v3/' } })
      expect(await send(wrong, [{}])).toEqual(['misconfigured'])
    })

    it('reports them as refused if there is no other version', async () => {
      await start()
      refuse('/v1/')
      expect(await send(open(), [{}])).toEqual(['misconfigured'])
    })
  })

  const urgentCommand = { type: 'cmd', huawei: { urgency: 'HIGH' } } as const
  const levels = () => sends.map(({ body }) => /"(?:urgency|importance)":"(\w+)"/.exec(body)?.[1])

  it('sends with NORMAL when HIGH urgency is refused, and does not try HIGH again', async () => {
    await start()
    const one = open()
    expect(await send(one, [{}], urgentCommand)).toEqual(['accepted'])
    expect(await send(one, [{}], urgentCommand)).toEqual(['accepted'])
    expect(levels()).toEqual(['HIGH', 'NORMAL', 'NORMAL'])
    expect(one.deps.holds.find('without urgency HIGH')).toMatchObject({
      kind: 'rejected',
      reason: { code: 'huawei.80300011' },
    })
  })

  it('never sends HIGH importance, so it does not hold HIGH urgency', async () => {
    await start()
    const one = open()
    expect(await send(one, [{}], { huawei: { importance: 'HIGH' } })).toEqual(['accepted'])
    expect(levels()).toEqual(['NORMAL'])
    expect(one.deps.holds.find('without urgency HIGH')).toBeUndefined()
  })

  it('does not try HIGH if another process was refused', async () => {
    await start()
    const refused = open()
    await send(refused, [{}], urgentCommand)
    const other = open({}, { holds: refused.deps.holds })
    expect(await send(other, [{}], urgentCommand)).toEqual(['accepted'])
    expect(sends.filter(({ body }) => body.includes('HIGH'))).toHaveLength(1)
  })

  it('keeps HIGH urgency if it is allowed', async () => {
    await start({ highAllowed: true })
    expect(await send(open(), [{}], urgentCommand)).toEqual(['accepted'])
    expect(levels()).toEqual(['HIGH'])
  })

  it.each(['v1', 'v3'])(
    'sends without receipts through %s when the receipt address is refused',
    async (version) => {
      await start()
      const one = open({ certificate: account.json, extra: { receipt_id: 'GONE' } })
      const harmony = version === 'v3'
      expect(await send(one, [{ harmony }])).toEqual(['accepted'])
      expect(await send(one, [{ harmony }])).toEqual(['accepted'])
      expect(sends.map(({ path, body }) => [path.slice(1, 3), body.includes('GONE')])).toEqual([
        [version, true],
        [version, false],
        [version, false],
      ])
      expect(one.deps.holds.find('without receipts')).toMatchObject({ reason: { code: 'huawei.80300013' } })
    },
  )

  it.each(['v1', 'v3'])('sends the text through %s when the picture is refused', async (version) => {
    await start()
    simulator.setFaults({ rules: ['image_verification'] })
    const one = open({ certificate: account.json })
    const attachmentUrl = 'https://img.example/a.png'
    const message = { type: 'image', attachmentUrl, ext: '{"id":9007199254740993}' } as const
    expect(await send(one, [{ harmony: version === 'v3' }], message)).toEqual(['accepted'])
    expect(sends.map(({ body }) => body.includes('"image":"https'))).toEqual([true, false])
    const second = JSON.parse(sends[1]!.body)
    const data = second.message?.data ?? JSON.stringify(second.payload.notification.clickAction.data)
    expect(JSON.parse(data)).toMatchObject({ attachment_url: attachmentUrl, task_id: '7001' })
    expect(sends[1]!.body).toMatch(/id\\?":9007199254740993/)
  })

  it('repeats only for the tokens whose app may not show the picture', async () => {
    await start()
    const one = open({ certificate: account.json })
    const message = { type: 'image', attachmentUrl: 'https://img.example/a.png' } as const
    const recipients = ['MAMzLgA', 'IMGPOLICY1', 'NORIGHT1'].map((token) => ({ token, harmony: true }))
    expect(await send(one, recipients, message)).toEqual(['accepted', 'accepted', 'rejected'])
    expect(sends.map(({ body }) => JSON.parse(body).target.token)).toEqual([
      ['MAMzLgA', 'IMGPOLICY1', 'NORIGHT1'],
      ['IMGPOLICY1'],
    ])
    expect(simulator.ledger(7001)).toEqual({ accepted: 2, distinct: 2, duplicates: 0 })
  })

  it('reports reasons about single tokens for these tokens only', async () => {
    await start()
    const one = open({ certificate: account.json })
    const tokens = ['MAMzLgA', 'NOPUSHTYPE1', 'PENALTY1', 'APPINFO1', 'COUNTRY1', 'ILLEGAL1']
    const recipients = tokens.map((token) => ({ token, harmony: true }))
    expect(await send(one, recipients)).toEqual([
      'accepted',
      'rejected',
      'rejected',
      'unavailable',
      'rejected',
      'gone',
    ])
    expect(await send(one, [{ token: 'NORIGHT1', harmony: true }])).toEqual(['rejected'])
  })

  it('halves a request that is too large', async () => {
    await start()
    const one = open()
    const recipients = Array.from({ length: 8 }, (_, i) => ({ token: `IQAAAA${i}${'x'.repeat(200)}` }))
    simulator.setFaults({ maxBodyBytes: 1000 })
    expect(new Set(await send(one, recipients))).toEqual(new Set(['accepted']))
    expect(simulator.ledger(7001)).toEqual({ accepted: 8, distinct: 8, duplicates: 0 })
    simulator.setFaults({ maxBodyBytes: 300 })
    const before = simulator.requests()
    expect(new Set(await send(one, recipients))).toEqual(new Set(['rejected']))
    // 8, 4, 2 and 1 tokens: what is too large for one is too large for the others.
    expect(simulator.requests() - before).toBe(4)
  })

  it('rejects test messages without a call when their daily limit is used up, until midnight in China', async () => {
    let now = Date.parse('2026-11-16T23:00:00+08:00')
    await start({ testPerDay: 1, now: () => now })
    const test = open({ certificate: account.json, extra: { target_user_type: 1 } }, { now: () => now })
    const harmony = { token: 'MAMzLgA', harmony: true }
    expect(await send(test, [harmony])).toEqual(['accepted'])
    expect(await send(test, [harmony])).toEqual(['rejected'])
    expect(await send(test, [harmony])).toEqual(['rejected'])
    expect(sends).toHaveLength(2)
    now += 3_600_000
    await send(test, [harmony])
    expect(sends).toHaveLength(3)
  })

  it('gets a new token once on a bare 401, then waits', async () => {
    await start()
    const one = open()
    simulator.setFaults({ reply: { status: 401, path: '/v1/' } })
    const before = simulator.requests()
    expect(await send(one, [{}])).toEqual(['unavailable'])
    // Two tokens, two sends.
    expect(simulator.requests() - before).toBe(4)
    simulator.setFaults({ htmlForbidden: 1 })
    expect(await send(one, [{}])).toEqual(['unavailable'])
    simulator.setFaults({ unavailable: 1, retryAfter: 0 })
    expect(await send(one, [{}])).toEqual(['unavailable'])
    simulator.setFaults({})
    expect(await send(one, [{}])).toEqual(['accepted'])
  })

  it('calls the hosts of its region', async () => {
    await start()
    const nowhere = { huawei: 'http://127.0.0.1:9', huaweiAuth: 'http://127.0.0.1:9' }
    const urls = sampleUrls({ ...nowhere, huaweiIntl: simulator.url, huaweiIntlAuth: simulator.url })
    expect(await send(open({ extra: { region: 'intl' } }, { urls }), [{}])).toEqual(['accepted'])
    expect(await send(open({}, { urls }), [{}])).toEqual(['unavailable'])
    // An installation without hosts of the region calls the usual ones.
    expect(await send(open({ extra: { region: 'intl' } }), [{}])).toEqual(['accepted'])
  })

  it('cuts v3 test messages into requests of ten', async () => {
    await start()
    const test = open({ appSecret: '', certificate: account.json, extra: { target_user_type: 1 } })
    const kinds = await send(
      test,
      Array.from({ length: 25 }, () => ({ harmony: true })),
    )
    expect(new Set(kinds)).toEqual(new Set(['accepted']))
    expect(sends.map(({ body }) => JSON.parse(body).target.token.length)).toEqual([10, 10, 5])
  })

  it('sends no further request after one that all of them would share', async () => {
    await start({ testPerDay: 1 })
    const test = open({ appSecret: '', certificate: account.json, extra: { target_user_type: 1 } })
    const many = Array.from({ length: 40 }, () => ({ harmony: true }))
    expect(await send(test, many)).toEqual([...Array(10).fill('accepted'), ...Array(30).fill('rejected')])
    expect(sends).toHaveLength(2)

    const busy = open({ appSecret: '', certificate: account.json, extra: { target_user_type: 1 } })
    simulator.setFaults({ throttle: 1 })
    const before = simulator.requests()
    expect(await send(busy, many)).toEqual(Array(40).fill('throttled'))
    expect(simulator.requests() - before).toBe(1)
  })

  it('requests one access token for many concurrent sends', async () => {
    await start()
    const one = open()
    await Promise.all(Array.from({ length: 8 }, () => send(one, [{}])))
    expect(one.deps.mints()).toBe(1)
    expect(sends).toHaveLength(8)
  })

  it('checks v1 with a validation-only request and a new access token', async () => {
    await start()
    const { transport, deps } = open()
    expect(await transport.check(new AbortController().signal)).toEqual({ ok: true })
    expect(JSON.parse(sends[0]!.body).validate_only).toBe(true)
    expect(deps.mints()).toBe(0)
  })

  const check = (transport: Transport<HuaweiPayload>) => transport.check(new AbortController().signal)

  it('does not call a refused access token a refusal of the credentials', async () => {
    await start()
    expect(await check(open({ appKey: '1' }).transport)).toEqual({
      ok: false,
      temporary: true,
      problem: expect.stringContaining('80200001 access token refused: wrong key, or an app or project'),
      code: 'huawei.80200001',
    })
  })

  it.each([
    ['80300002', false],
    ['80300037', false],
    ['80100001', undefined],
    ['81000001', true],
    ['89999999', true],
  ])('checks with %s from the send API', async (code, temporary) => {
    await start()
    const { transport } = open()
    simulator.setFaults({ reply: { status: 200, body: { code, msg: 'words' }, path: '/v1/' } })
    expect(await check(transport)).toMatchObject(
      temporary === undefined ? { ok: true } : { ok: false, temporary },
    )
  })

  it.each([
    { htmlForbidden: 1 },
    { reply: { status: 401 } },
    { reply: { status: 403 } },
    { reply: { status: 413, path: '/v' } },
    { unavailable: 1 },
  ])('checks without a result when a gateway replies: %j', async (faults) => {
    await start()
    const { transport } = open({ certificate: account.json })
    simulator.setFaults(faults)
    expect(await check(transport)).toMatchObject({ ok: false, temporary: true })
  })

  it('finds the credentials valid if one of two versions accepts its own, and warns of the other', async () => {
    await start()
    const { transport } = open({ appSecret: 'wrong', certificate: account.json })
    expect(await check(transport)).toEqual({
      ok: true,
      warnings: [
        'Huawei (Android, HarmonyOS up to 4) refused the credentials: oauth 12304 client_secret wrong',
      ],
    })
  })

  it.each([
    ['80300002', false],
    ['80200001', false],
    ['81000001', true],
  ])('with a wrong secret and %s from v3 is temporary: %p', async (code, temporary) => {
    await start()
    const { transport } = open({ appSecret: 'wrong', certificate: account.json })
    simulator.setFaults({ reply: { status: 200, body: { code, msg: '' }, path: '/v3/' } })
    expect(await check(transport)).toMatchObject({ ok: false, temporary })
  })
})
