import { type VendorChannel, vendorChannels } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { pairName } from '../books.ts'
import { compare, type Evidence } from '../compare.ts'
import { missedIn } from '../missed-answers.ts'
import type { Order } from '../orders.ts'
import { kindOf, type Population, tokenOf } from '../population.ts'
import { judgeRest, type Rest } from '../rest.ts'
import type { VendorLedger } from '../vendors.ts'

const numbers = Array.from({ length: 83 }, (_, n) => n)
const find = (wanted: (n: number) => boolean) => numbers.find(wanted)!
const xiaomi = find((n) => kindOf(n).alive.join() === 'xiaomi' && !kindOf(n).flock)
const both = find((n) => kindOf(n).alive.join() === 'xiaomi' && kindOf(n).flock)
const population = { ids: numbers.map((n) => n + 1000) } as unknown as Population
const task = 7

/** One task to two devices, one reached by its vendor, one by the native channel; everything in order. */
function inOrder(order: Partial<Order> = {}): Evidence {
  const counts = { task, target: 1, sent: 1, received: 0, failed: 0, moved: 0, expired: 0, cancelled: 0 }
  return {
    accepted: [
      {
        task,
        order: {
          requestId: 'r',
          audience: 'all',
          devices: [xiaomi, both],
          strategy: 'combined',
          ttl: undefined,
          speed: undefined,
          turn: 'none',
          copies: 1,
          ...order,
        },
      },
    ],
    population,
    ledgers: new Map<VendorChannel, VendorLedger>(
      vendorChannels.map((channel): [VendorChannel, VendorLedger] => [
        channel,
        {
          tasks: channel === 'xiaomi' ? { 7: { accepted: 1, tokens: [tokenOf(xiaomi, 'xiaomi')] } } : {},
          unheard: 0,
        },
      ]),
    ),
    shown: new Map([[both + 1000, new Map([[task, 1]])]]),
    books: {
      states: new Map([[task, 'finished']]),
      unreachable: new Map(),
      counters: new Map([
        [
          task,
          [
            { ...counts, channel: 'xiaomi' },
            { ...counts, channel: 'native', received: 1 },
          ],
        ],
      ]),
      receipts: new Map([[pairName(task, both + 1000), 50]]),
      handedOver: new Map(),
    },
  }
}

const acceptedTwice = { tasks: { 7: { accepted: 2, tokens: [tokenOf(xiaomi, 'xiaomi')] } }, unheard: 1 }
const acceptedBoth = {
  tasks: { 7: { accepted: 2, tokens: [tokenOf(xiaomi, 'xiaomi'), tokenOf(both, 'xiaomi')] } },
  unheard: 0,
}

describe('the comparison at the end of a drill', () => {
  it('finds nothing where everything is in order', () => {
    expect(compare(inOrder())).toEqual({
      deliveries: 2,
      duplicates: 0,
      lateAcknowledgements: 0,
      lost: [],
      wrong: [],
    })
  })

  it('misses a task that is gone or has not ended', () => {
    for (const states of [new Map(), new Map([[task, 'sending']])]) {
      const evidence = inOrder()
      expect(compare({ ...evidence, books: { ...evidence.books, states } }).lost).toHaveLength(1)
    }
  })

  it('notices a task that nobody was told of', () => {
    expect(compare({ ...inOrder(), accepted: [] }).wrong).toEqual([
      'task 7 exists though nobody was told of it',
    ])
  })

  it('misses a device that got nothing, unless its task was cancelled', () => {
    const evidence = { ...inOrder(), shown: new Map() }
    expect(compare(evidence).lost).toEqual([expect.stringMatching(/got nothing/)])
    expect(compare({ ...inOrder({ turn: 'cancel' }), shown: new Map() }).lost).toEqual([])
  })

  it('finds a counter that says more or less than the vendor', () => {
    for (const sent of [0, 2]) {
      const evidence = inOrder()
      for (const row of evidence.books.counters.get(task)!) if (row.channel === 'xiaomi') row.sent = sent
      expect(compare(evidence).wrong).toEqual([expect.stringMatching(/xiaomi accepted 1, counted are/)])
    }
  })

  it('counts a second acceptance by the vendor as a duplicate', () => {
    const evidence = inOrder()
    const ledgers = new Map(evidence.ledgers).set('xiaomi', acceptedTwice)
    expect(compare({ ...evidence, ledgers })).toMatchObject({ duplicates: 1, wrong: [] })
  })

  it('lets a device be reached twice only when its acknowledgement was late', () => {
    const evidence = inOrder()
    for (const row of evidence.books.counters.get(task)!) if (row.channel === 'xiaomi') row.sent = 2
    const twice = { ...evidence, ledgers: new Map(evidence.ledgers).set('xiaomi', acceptedBoth) }
    const handedAt = (at: number) => ({
      ...twice,
      books: { ...twice.books, handedOver: new Map([[pairName(task, both + 1000), at]]) },
    })
    expect(compare(handedAt(40))).toMatchObject({ duplicates: 1, lateAcknowledgements: 1, wrong: [] })
    expect(compare(handedAt(60)).wrong).toEqual([expect.stringMatching(/10 ms after it had acknowledged/)])
  })

  it('wants every device of the audience among targets and unreachable ones', () => {
    const evidence = inOrder({ strategy: 'ospush_only', devices: [xiaomi, xiaomi] })
    const counters = new Map([[task, evidence.books.counters.get(task)!.slice(0, 1)]])
    expect(compare({ ...evidence, shown: new Map(), books: { ...evidence.books, counters } }).lost).toEqual([
      'task 7: 2 devices, 1 targets, 0 unreachable',
    ])
  })
})

describe('the rest after a drill', () => {
  const before: Rest = {
    memory: { api: 100 },
    descriptors: { api: 50 },
    postgres: 40,
    idleInTransaction: 0,
    queue: 30,
  }

  it('is as good as before it', () => {
    expect(judgeRest(before, before)).toEqual([])
  })

  it.each<[string, Partial<Rest>]>([
    ['memory', { memory: { api: 500 } }],
    ['descriptors', { descriptors: { api: 400 } }],
    ['connections to Postgres', { postgres: 150 }],
    ['connections to the queue', { queue: 120 }],
    ['open transactions', { idleInTransaction: 1 }],
  ])('is broken by %s that did not come back', (_, held) => {
    expect(judgeRest(before, { ...before, ...held })).toHaveLength(1)
  })
})

it('reads from a worker how many answers it missed', () => {
  const text = `# TYPE herald_outcomes_total counter
herald_outcomes_total{program="worker",channel="fcm",outcome="unavailable",code="none"} 12
herald_outcomes_total{program="worker",channel="fcm",outcome="unavailable",code="http_503"} 400
herald_outcomes_total{program="worker",channel="fcm",outcome="accepted",code="none"} 7000
herald_outcomes_total{channel="fcm",outcome="unavailable",code="UNAVAILABLE"} 50
herald_outcomes_total{outcome="unavailable",code="network",channel="oppo"} 3
`
  expect(missedIn(text)).toBe(15)
})
