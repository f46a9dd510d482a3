import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { type ChannelAdapter, isUnsupported, type TransportDeps } from '@herald/channels'
import { adapters } from '@herald/channels/all'
import { certificatesOf, type StoredCertificate } from '@herald/db/certificates'
import { createSealer } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'
import type { Outcome, VendorChannel } from '@herald/domain'
import { sampleMessage } from '@herald/testkit/sample-message'
import { useDatabase } from '@herald/testkit/use-database'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { openListSink } from '../list-sink.ts'
import { addMixedDevices, addVendorCertificates } from '../mixed-devices.ts'
import { measuredVendors } from '../vendor-calls.ts'

const size = { devices: 909, native: 101, few: 90 }
const each = (size.devices - size.native) / measuredVendors.length

const db = useDatabase({ partitions: false })
let native: string[]
let tokens: Map<VendorChannel, string[]>
let certificates: StoredCertificate[]

beforeAll(async () => {
  const made = await createApplication(db, { name: 'mixed', packageName: 'com.example.mixed' })
  if (made === 'taken') throw new Error('the database is not new')
  const sealer = createSealer(randomBytes(32))
  await addVendorCertificates(db, sealer, made.appId, { limits: { devices_per_s: 1_000_000 } })
  native = await addMixedDevices(db, made.appId, size)
  certificates = await certificatesOf(db, sealer, made.appId)
  const { rows } = await db.pool.query<{ channel: VendorChannel; token: string }>(
    'SELECT channel, token FROM binding ORDER BY device_id',
  )
  tokens = new Map(measuredVendors.map((channel) => [channel, []]))
  for (const { channel, token } of rows) tokens.get(channel)!.push(token)
})

describe('the devices of the mixed broadcast', () => {
  it('are spread evenly over all vendors, with tokens in the format of each vendor', () => {
    expect(native).toHaveLength(size.native)
    for (const channel of measuredVendors) {
      const of = tokens.get(channel)!
      expect([channel, of.length, new Set(of).size]).toEqual([channel, each, each])
      expect(of.map((token) => adapters[channel]!.checkToken(token)).filter(Boolean)).toEqual([])
    }
  })

  it('are mixed over the ids, the tagged ones too', async () => {
    const { rows } = await db.pool.query<{ channel: string; count: number }>(
      `SELECT coalesce(channel, 'native') AS channel, count(*)::int AS count FROM device_tag
       LEFT JOIN binding USING (device_id) GROUP BY 1`,
    )
    expect(rows.map(({ count }) => count)).toEqual(Array(measuredVendors.length + 1).fill(10))
  })
})

describe('the sink of the vendors that take lists', () => {
  const listVendors = measuredVendors.filter((channel) => channel !== 'apns' && channel !== 'fcm')

  it.each(listVendors)('accepts the calls of the %s adapter and counts each device once', async (channel) => {
    const { server, takeCounts } = openListSink()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${channel}`
    const of = tokens.get(channel)!
    try {
      const send = (list: readonly string[]) => sendThrough(channel, base, list)
      expect(await send(of)).toEqual({ accepted: each })
      expect(takeCounts()).toEqual({ [channel]: { requests: each, distinct: each } })
      await send(of.slice(0, 1))
      await send(of.slice(0, 3))
      expect(takeCounts()).toEqual({ [channel]: { requests: 4, distinct: 3 } })
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })

  it('responds to an unknown call with 404 and counts nothing', async () => {
    const { server, takeCounts } = openListSink()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      const paths = ['/xiaomi/v3/message/all', '/constructor/v3/message/regid', '/']
      const responses = await Promise.all(
        paths.map((path) => fetch(base + path, { method: 'POST', body: '' })),
      )
      expect(responses.map(({ status }) => status)).toEqual([404, 404, 404])
      expect(await responses[0]!.text()).toBe('the sink does not know the call /v3/message/all of xiaomi')
      expect(takeCounts()).toEqual({})
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })
})

/** Sends as the runner does, in calls of the vendor's maximum size; returns the number of outcomes per kind. */
async function sendThrough(channel: VendorChannel, base: string, list: readonly string[]) {
  const adapter = adapters[channel] as ChannelAdapter
  const settings = adapter.readSettings(certificates.find((one) => one.channel === channel)!)
  const payload = adapter.mapPayload(task, settings)
  if (isUnsupported(payload)) throw new Error(payload.unsupported)
  const urls = new Proxy({}, { get: () => base }) as TransportDeps['urls']
  const transport = adapter.open(settings, {
    urls,
    now: Date.now,
    timeoutMs: 30_000,
    session: async (_key, mint) => (await mint()).value,
    holds: { isEmpty: () => true, find: () => undefined, add: () => {} },
    taskMemory: (_task, _key, make) => make(),
  })
  const outcomes: Outcome[] = []
  try {
    for (let from = 0; from < list.length; from += adapter.tokensPerCall) {
      const part = list.slice(from, from + adapter.tokensPerCall)
      await transport.send(
        payload,
        part.map((token, n) => ({ deviceId: from + n, token })),
        { signal: new AbortController().signal, report: (_index, outcome) => outcomes.push(outcome) },
      )
    }
  } finally {
    await transport.close()
  }
  return Object.fromEntries(
    [...Map.groupBy(outcomes, ({ kind }) => kind)].map(([kind, all]) => [kind, all.length]),
  )
}

const task = {
  taskId: 4_503_599_627_370_497,
  messageClass: 'service' as const,
  ttl: 86_400,
  applicationName: 'mixed',
  now: Math.floor(Date.now() / 1000),
  message: sampleMessage({
    title: 'Sale & "token":["none"]',
    body: 'Everything, and %2C too, must go',
  }),
}
