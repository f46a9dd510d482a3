import { type VendorChannel, vendorChannels } from '@herald/domain'
import { createWebhookPoster, newWebhookSecret } from '@herald/outbound'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { compareEvents } from '../compare-events.ts'
import { countName, type EventSink, type SinkRecords, sentName, startEventSink } from '../event-sink.ts'
import type { HeraldRecords } from '../herald-records.ts'
import { guidOf, kindOf, tokenOf } from '../population.ts'
import { DRILL_CAMPAIGN } from '../requests.ts'
import type { VendorLedger } from '../vendors.ts'

describe('the server of the webhook', () => {
  const secret = newWebhookSecret()
  const poster = createWebhookPoster({ mayCall: () => true })
  let sink: EventSink
  let broken: string[]
  let clock: number
  let dice: number[]
  beforeEach(async () => {
    broken = []
    clock = 0
    dice = []
    sink = await startEventSink({
      secret,
      random: () => dice.shift() ?? 0.9,
      now: () => clock,
      onBroken: (sentence) => void broken.push(sentence),
    })
  })
  afterEach(() => sink.close())

  const entry = (id: string, type = 'device.sent') => ({
    id,
    type,
    task_id: 7,
    channel: 'huawei',
    device_guid: `device-${id}`,
  })
  const post = (id: string, data: object[], signedWith = secret) =>
    poster.post({
      url: sink.url,
      secret: signedWith,
      id,
      body: Buffer.from(JSON.stringify({ type: 'herald.events', timestamp: '', data })),
    })

  it('counts each entry once', async () => {
    expect(await post('a', [entry('5-0'), entry('5-1')])).toEqual({ status: 204 })
    expect(await post('b', [entry('5-1'), entry('5-2', 'device.failed')])).toEqual({ status: 204 })
    expect(sink.records()).toMatchObject({ entries: 3, repeated: 1, requests: 2, failed: 0 })
    expect([...sink.records().counts]).toEqual([
      [countName(7, 'huawei', 'device.sent'), 2],
      [countName(7, 'huawei', 'device.failed'), 1],
    ])
    expect(broken).toEqual([])
  })

  it('fails half of the time, before or after it has stored the entries', async () => {
    clock = 3000
    dice = [0.4, 0.4, 0.4]
    expect(await post('a', [entry('5-0')])).toEqual({ status: 500 })
    expect(sink.records().entries).toBe(0)
    dice = [0.6, 0.4, 0.4]
    expect(await post('a', [entry('5-0')])).toEqual({ status: 500 })
    expect(sink.records()).toMatchObject({ entries: 1, failed: 2 })
    clock = 6000
    expect(await post('a', [entry('5-0')])).toEqual({ status: 204 })
    expect(sink.records()).toMatchObject({ entries: 1, repeated: 1, failed: 2 })
  })

  it('answers one request after four that failed, also while it is down', async () => {
    clock = 3000
    const statuses = []
    for (let n = 0; n < 11; n++) {
      dice = [0.4, 0.4, 0.4]
      statuses.push((await post('a', [entry('5-0')])).status)
    }
    expect(statuses).toEqual([500, 500, 500, 500, 204, 500, 500, 500, 500, 204, 500])
  })

  it('reports wrong signatures, repeated requests with other entries, and devices that are told twice', async () => {
    await post('a', [entry('5-0')], newWebhookSecret())
    await post('b', [entry('6-0')])
    await post('b', [entry('6-0'), entry('6-1')])
    await post('c', [{ ...entry('7-0'), device_guid: 'device-6-0' }])
    expect(broken).toEqual([
      'the request a has a wrong signature',
      'the request b had 1 entries, and 2 when it was repeated',
      'device-6-0 has two entries device.sent, 7/huawei',
    ])
  })
})

describe('the comparison of events', () => {
  const task = 7
  const huawei = Array.from({ length: 83 }, (_, n) => n).find((n) => kindOf(n).alive.join() === 'huawei')!
  const row = { task, target: 2, sent: 1, received: 1, clicked: 0, failed: 1, moved: 0, expired: 0 }
  const request = {
    requestId: 'r',
    audience: 'all',
    devices: [huawei],
    strategy: 'combined' as const,
    copies: 1,
    campaign: DRILL_CAMPAIGN,
  }
  const name = (type: string) => countName(task, type.startsWith('task') ? undefined : 'huawei', type)
  const ledger = (tokens: string[]): VendorLedger => ({
    tasks: { 7: { accepted: tokens.length, tokens, unheard: [], firstAt: 1, lastAt: 2 } },
    unheard: 0,
  })
  /** What the server received, by type, if it differs from what is right. */
  const findings = (
    received: Record<string, number> = {},
    { state = 'finished', tokens = [tokenOf(huawei, 'huawei')] } = {},
  ) => {
    const right = { 'device.sent': 1, 'device.received': 1, 'device.failed': 1, 'task.finished': 1 }
    const counts = Object.entries({ ...right, ...received }).filter(([, count]) => count > 0)
    return compareEvents({
      accepted: [{ task, request }],
      erased: new Set(),
      ledgers: new Map<VendorChannel, VendorLedger>(
        vendorChannels.map((channel) => [channel, ledger(channel === 'huawei' ? tokens : [])]),
      ),
      records: {
        states: new Map([[task, state]]),
        counters: new Map([[task, [{ ...row, cancelled: 0, channel: 'huawei' }]]]),
      } as unknown as HeraldRecords,
      sink: {
        counts: new Map(counts.map(([type, count]) => [name(type), count])),
        sent: new Map([[sentName(task, 'huawei'), new Set([guidOf(huawei)])]]),
      } as unknown as SinkRecords,
    })
  }

  it('finds nothing if all is right', () => {
    expect(findings()).toEqual([])
    expect(findings({ 'task.finished': 0, 'task.cancelled': 1 }, { state: 'cancelled' })).toEqual([])
    expect(findings({ 'task.finished': 1, 'task.cancelled': 1 }, { state: 'cancelled' })).toEqual([])
  })

  it.each([
    [{ 'device.sent': 2 }, 'events: 2 entries 7/huawei/device.sent, but 1 are counted'],
    [{ 'device.failed': 0 }, 'events: 0 entries 7/huawei/device.failed, but 1 are counted'],
    [{ 'device.clicked': 1 }, 'events: 1 entries 7/huawei/device.clicked, but 0 are counted'],
    [{ 'task.finished': 0 }, 'events: task 7 is finished, its events say {"finished":0,"cancelled":0}'],
    [{ 'task.finished': 2 }, 'events: task 7 is finished, its events say {"finished":2,"cancelled":0}'],
    [{ 'device.unknown': 1 }, 'events: 1 entries 7/huawei/device.unknown that nothing accounts for'],
  ])('finds %j', (received, sentence) => {
    expect(findings(received)).toEqual([sentence])
  })

  it('finds devices that were told as sent and that the vendor does not know', () => {
    expect(findings({}, { tokens: [] })).toEqual([
      `events: ${guidOf(huawei)} of task 7 was told as sent, but huawei did not accept it`,
    ])
  })
})
