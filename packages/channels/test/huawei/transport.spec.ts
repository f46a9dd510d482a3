import type { Outcome } from '@herald/domain'
import { type HuaweiSimulator, startHuaweiSimulator } from '@herald/simulators/huawei'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type Certificate, isUnsupported, type Recipient, type Transport } from '../../src/channel.ts'
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

  function open(certificate: Partial<Certificate> = {}) {
    const settings = huawei.readSettings(
      sampleCertificate('huawei', { appId: '100200300', appSecret: 's3cr3t', ...certificate }),
    )
    const deps = sampleDeps({ urls: sampleUrls({ huawei: simulator.url, huaweiAuth: simulator.url }) })
    const transport = huawei.open(settings, deps)
    opened.push(transport)
    return { settings, deps, transport }
  }

  async function send(
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
    return outcomes.map((outcome) => outcome?.kind)
  }

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
    // Inside the data string of v1 a quote takes four bytes, in the data object of v3 two.
    const ext = JSON.stringify({ blob: '"'.repeat(1000) })
    const both = open({ certificate: account.json })
    expect(await send(both, [{}, { harmony: true }], { ext })).toEqual(['unsupported', 'accepted'])
  })

  it('falls back to NORMAL when HIGH urgency is refused, and does not try HIGH again', async () => {
    await start()
    const one = open()
    const high = { type: 'cmd', huawei: { urgency: 'HIGH' } } as const
    expect(await send(one, [{}], high)).toEqual(['accepted'])
    expect(await send(one, [{}], high)).toEqual(['accepted'])
    const urgencies = sends.map(({ body }) => JSON.parse(body).message.android.urgency)
    expect(urgencies).toEqual(['HIGH', 'NORMAL', 'NORMAL'])
  })

  it('keeps HIGH urgency if it is allowed', async () => {
    await start({ highUrgency: true })
    expect(await send(open(), [{}], { type: 'cmd', huawei: { urgency: 'HIGH' } })).toEqual(['accepted'])
    expect(JSON.parse(sends[0]!.body).message.android.urgency).toBe('HIGH')
  })

  it('cuts v3 test messages into requests of ten', async () => {
    await start()
    const test = open({ appSecret: '', certificate: account.json, extra: { target_user_type: 1 } })
    const kinds = await send(
      test,
      Array.from({ length: 25 }, () => ({})),
    )
    expect(new Set(kinds)).toEqual(new Set(['accepted']))
    expect(sends.map(({ body }) => JSON.parse(body).target.token.length)).toEqual([10, 10, 5])
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

  it('reports a project of another app as misconfigured', async () => {
    await start()
    const checked = await open({ appKey: '1' }).transport.check(new AbortController().signal)
    expect(checked).toEqual({
      ok: false,
      temporary: false,
      problem: 'Huawei refused the credentials: 80200001 access token missing, wrong or of another app',
    })
  })
})
