import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { adapters } from '@herald/channels/all'
import { cards } from '@herald/channels/cards'
import { type RecoveryPauses, type VendorChannel, vendorChannels } from '@herald/domain'
import { type DemoCertificate, type Faults, loadDemo, type Simulator } from '@herald/simulators'
import { until } from '@herald/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { type Harness, startHarness } from './harness.ts'

/** As in production, in fractions of a second instead of minutes. */
const pauses: RecoveryPauses = { probe: [0.1, 0.2, 0.5], check: 0.1, breaker: { first: 0.1, max: 0.5 } }
const DEVICES = 20
const PUSHES = 8

type Vendor = {
  simulator: Simulator
  certificate: DemoCertificate
  token(index: number): string
}

/** How each vendor refuses a send with valid credentials, in its own words, and at which path. */
const refusals: Record<VendorChannel, NonNullable<Faults['reply']>> = {
  apns: { status: 403, body: { reason: 'InvalidProviderToken' }, path: '/3/device' },
  fcm: {
    status: 403,
    body: {
      error: {
        code: 403,
        message: "Permission 'cloudmessaging.messages.create' denied on resource (or it may not exist).",
        status: 'PERMISSION_DENIED',
        details: [
          {
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: 'IAM_PERMISSION_DENIED',
            domain: 'cloudresourcemanager.googleapis.com',
          },
        ],
      },
    },
    path: '/v1/projects',
  },
  huawei: {
    status: 200,
    body: { code: '80300002', msg: 'No permission to send message to these tmIDs', requestId: '1' },
    path: '/v2',
  },
  honor: { status: 200, body: { code: 80200001, message: 'Oauth authentication error' }, path: '/api/v1' },
  xiaomi: {
    status: 200,
    body: { result: 'error', code: 21301, description: '认证失败', reason: 'Invalid application secret.' },
    path: '/v3/message',
  },
  oppo: { status: 200, body: { code: 28, message: 'App Disabled' }, path: '/server/v1/message' },
  vivo: { status: 200, body: { result: 10043, desc: '应用推送功能已关闭' }, path: '/message/send' },
  meizu: {
    status: 200,
    body: { code: '1006', message: '签名认证失败', value: '', redirect: '' },
    path: '/garcia/api/server/push/varnished',
  },
}

/** Apple's refusal of an unknown key may pass, and closes the channel only after minutes. */
const lastingRefusal = (channel: VendorChannel): Faults =>
  channel === 'apns'
    ? { reply: { ...refusals.apns, body: { reason: 'BadEnvironmentKeyInToken' } } }
    : { refuseAuth: true }

const settingOf = new Map<string, string>(
  cards.flatMap(({ addresses }) => Object.entries(addresses).map(([name, { setting }]) => [name, setting])),
)

describe('a vendor that refuses valid credentials for a while', () => {
  const vendors = {} as Record<VendorChannel, Vendor>
  const opened: Simulator[] = []
  let harness: Harness
  let folder: string
  let app: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'herald-recovers-'))
    const settings: Record<string, string> = { HERALD_VENDOR_CA: join(folder, 'ca.pem') }
    for (const channel of vendorChannels) {
      const demo = await loadDemo(channel)
      const credentials = await demo.makeCredentials()
      const { simulators, urls } = await demo.start(credentials)
      opened.push(...simulators)
      vendors[channel] = {
        simulator: simulators[0],
        certificate: demo.certificate(credentials),
        token: (index) => demo.token(createHash('sha256').update(`${channel} ${index}`).digest(), 'android'),
      }
      for (const [name, url] of Object.entries(urls)) settings[settingOf.get(name)!] = url
    }
    await writeFile(join(folder, 'ca.pem'), opened.flatMap(({ ca }) => ca ?? []).join('\n'))
    harness = await startHarness({ adapters, settings, pauses })
    const certificates = Object.fromEntries(
      vendorChannels.map((channel) => [channel, vendors[channel].certificate]),
    )
    app = await harness.addApplication('recovers', {}, certificates)
    for (const channel of vendorChannels) await addDevices(channel, channel, 0, DEVICES)
    await harness.startPlanner()
    await harness.startWorkers()
  })
  afterEach(() => {
    for (const { simulator } of Object.values(vendors)) simulator.setFaults({})
  })
  afterAll(async () => {
    await harness?.stop()
    await Promise.all(opened.map((simulator) => simulator.close()))
    await rm(folder, { recursive: true, force: true })
  })

  /** All vendors at once: each has its own simulator, certificate and devices, and most of the time is waiting. */
  function eachVendor(
    name: string,
    channels: readonly VendorChannel[],
    test: (channel: VendorChannel) => Promise<void>,
  ): void {
    it(name, async () => {
      const results = await Promise.allSettled(channels.map(test))
      const failures = results.flatMap((result, i) =>
        result.status === 'rejected' ? [`${channels[i]}: ${(result.reason as Error).message}`] : [],
      )
      expect(failures).toEqual([])
    })
  }
  const addDevices = (channel: VendorChannel, alias: string, from: number, count: number) =>
    harness.addDevices(
      app,
      Array.from({ length: count }, (_, i) => ({
        platform: channel === 'apns' ? ('ios' as const) : ('android' as const),
        tokens: { [channel]: vendors[channel].token(from + i) },
        alias,
      })),
    )
  const notify = (alias: string) => harness.notify(app, { audience: { kind: 'alias', aliases: [alias] } })
  const stateOf = async (channel: VendorChannel) => {
    const { rows } = await harness.db.pool.query<{ state: string; suspected: boolean; breaker: boolean }>(
      `SELECT c.state, c.refused_at IS NOT NULL AS suspected, b.certificate_id IS NOT NULL AS breaker
       FROM certificate c LEFT JOIN breaker b ON b.certificate_id = c.id WHERE c.app_id = $1 AND c.channel = $2`,
      [app, channel],
    )
    return rows[0]!
  }
  /** What the audit says of the certificate, and who did it. */
  const historyOf = async (channel: VendorChannel) => {
    const { rows } = await harness.db.pool.query<{ action: string; actor: string }>(
      `SELECT action, actor FROM audit WHERE app_id = $1 AND action LIKE 'certificate.%' AND detail->>'channel' = $2 ORDER BY id`,
      [app, channel === 'meizu' ? 'flyme' : channel],
    )
    return rows.map(({ action, actor }) => `${action} by ${actor}`)
  }
  /** Every device got every push once, nothing failed, and the channel is as before. */
  async function expectDelivered(channel: VendorChannel, tasks: number[], devices: number): Promise<void> {
    for (const task of tasks) {
      await harness.finished(task)
      expect(await harness.counters(task)).toEqual({ [channel]: { target: devices, sent: devices } })
      expect(vendors[channel].simulator.ledger(task)).toEqual({
        accepted: devices,
        distinct: devices,
        duplicates: 0,
      })
    }
    await until(
      async () => {
        const { state, suspected, breaker } = await stateOf(channel)
        return state === 'open' && !suspected && !breaker
      },
      { what: `the certificate of ${channel} in its usual state` },
    )
    expect(await harness.imbalances()).toEqual([])
  }

  eachVendor(
    'delivers everything without anybody’s help when the vendor accepts them again',
    vendorChannels,
    async (channel) => {
      const { simulator } = vendors[channel]
      await expectDelivered(channel, [await notify(channel)], DEVICES)
      simulator.setFaults(lastingRefusal(channel))
      const tasks = [await notify(channel), await notify(channel)]
      await until(async () => (await stateOf(channel)).state === 'closed', {
        what: `closing ${channel}`,
      })
      // Accepted while the channel is closed.
      tasks.push(await notify(channel))
      const probed = simulator.requests()
      await until(() => simulator.requests() > probed + 2, { what: 'probes' })
      expect((await stateOf(channel)).state).toBe('closed')
      for (const task of tasks) expect(simulator.ledger(task).accepted).toBe(0)
      simulator.setFaults({})
      await expectDelivered(channel, tasks, DEVICES)
      expect(await historyOf(channel)).toEqual([
        'certificate.closed by herald',
        'certificate.reopened by herald',
      ])
    },
  )

  eachVendor(
    'one request in a thousand: the channel is not closed and every device is reached',
    ['apns', 'fcm'],
    async (channel) => {
      const { simulator } = vendors[channel]
      const alias = `${channel} many`
      await addDevices(channel, alias, 1000, 2000)
      const before = await historyOf(channel)
      const requests = simulator.requests()
      simulator.setFaults({ reply: { ...refusals[channel], every: 1000 } })
      await expectDelivered(channel, [await notify(alias)], 2000)
      expect(simulator.requests() - requests).toBeGreaterThan(2000)
      expect(await historyOf(channel)).toEqual(before)
    },
  )

  eachVendor(
    'one request in seven: the channel is not closed and every push arrives',
    vendorChannels,
    async (channel) => {
      const { simulator } = vendors[channel]
      const alias = `${channel} single`
      await addDevices(channel, alias, 5000, 1)
      await expectDelivered(channel, [await notify(alias)], 1)
      const before = await historyOf(channel)
      const requests = simulator.requests()
      simulator.setFaults({ reply: { ...refusals[channel], every: 7 } })
      // One after the other: some vendors' check uses the path of sends, and must not be the seventh request.
      for (let i = 0; i < PUSHES; i++) await expectDelivered(channel, [await notify(alias)], 1)
      expect(simulator.requests() - requests).toBeGreaterThan(PUSHES)
      expect(await historyOf(channel)).toEqual(before)
    },
  )

  eachVendor(
    'a page of a gateway closes nothing: the channel is used again by itself',
    vendorChannels,
    async (channel) => {
      const { simulator } = vendors[channel]
      const before = await historyOf(channel)
      simulator.setFaults({ htmlForbidden: 1 })
      const tasks = [await notify(channel), await notify(channel), await notify(channel)]
      await until(async () => (await stateOf(channel)).breaker, {
        what: `the breaker of ${channel}`,
      })
      simulator.setFaults({})
      await expectDelivered(channel, tasks, DEVICES)
      expect(await historyOf(channel)).toEqual(before)
    },
  )
})
