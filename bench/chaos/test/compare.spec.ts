import { type VendorChannel, vendorChannels } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { compare, type Evidence } from '../compare.ts'
import { pairName } from '../herald-records.ts'
import { countLost } from '../lost-responses.ts'
import { kindOf, type Population, tokenOf } from '../population.ts'
import type { NotifyRequest } from '../requests.ts'
import { findLeaks, type Resources } from '../resources.ts'
import type { VendorLedger } from '../vendors.ts'

const numbers = Array.from({ length: 83 }, (_, n) => n)
const find = (wanted: (n: number) => boolean) => numbers.find(wanted)!
const xiaomi = find((n) => kindOf(n).alive.join() === 'xiaomi' && !kindOf(n).native)
const both = find((n) => kindOf(n).alive.join() === 'xiaomi' && kindOf(n).native)
const population = { ids: numbers.map((n) => n + 1000) } as unknown as Population
const task = 7
const times = { unheard: [], firstAt: 10, lastAt: 20 }

/** One task to two devices, one reached by its vendor, one by the native channel, without any violation. */
function correct(request: Partial<NotifyRequest> = {}): Evidence {
  const ended = { failed: 0, moved: 0, expired: 0, cancelled: 0 }
  const counts = { task, target: 1, sent: 1, received: 0, clicked: 0, ...ended }
  return {
    accepted: [
      {
        task,
        request: {
          requestId: 'r',
          audience: 'all',
          devices: [xiaomi, both],
          strategy: 'combined',
          copies: 1,
          ...request,
        },
      },
    ],
    population,
    erased: new Set(),
    ledgers: new Map<VendorChannel, VendorLedger>(
      vendorChannels.map((channel): [VendorChannel, VendorLedger] => [
        channel,
        {
          tasks:
            channel === 'xiaomi' ? { 7: { accepted: 1, tokens: [tokenOf(xiaomi, 'xiaomi')], ...times } } : {},
          unheard: 0,
        },
      ]),
    ),
    unrecorded: new Set(),
    shown: new Map([[both + 1000, new Map([[task, 1]])]]),
    records: {
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
      moved: new Map(),
    },
  }
}

const acceptedTwice = {
  tasks: { 7: { accepted: 2, tokens: [tokenOf(xiaomi, 'xiaomi')], ...times } },
  unheard: 1,
}
const acceptedBoth = {
  tasks: { 7: { accepted: 2, tokens: [tokenOf(xiaomi, 'xiaomi'), tokenOf(both, 'xiaomi')], ...times } },
  unheard: 0,
}

describe('the comparison at the end of a drill', () => {
  it('finds nothing wrong in a correct run', () => {
    expect(compare(correct())).toEqual({
      deliveries: 2,
      duplicates: 0,
      lateAcknowledgements: 0,
      lost: [],
      wrong: [],
    })
  })

  it('reports a task that is missing or has not ended', () => {
    for (const states of [new Map(), new Map([[task, 'sending']])]) {
      const evidence = correct()
      expect(compare({ ...evidence, records: { ...evidence.records, states } }).lost).toHaveLength(1)
    }
  })

  it('reports a task that no caller knows', () => {
    expect(compare({ ...correct(), accepted: [] }).wrong).toEqual(['task 7 exists, but no caller got its id'])
  })

  it('reports a device that got nothing, unless its task was cancelled', () => {
    const evidence = { ...correct(), shown: new Map() }
    expect(compare(evidence).lost).toEqual([expect.stringMatching(/got nothing/)])
    expect(compare({ ...correct({ followUp: 'cancel' }), shown: new Map() }).lost).toEqual([])
  })

  it('expects nothing of a device that was erased, and lets a task that named only such devices be cancelled', () => {
    const erased = new Set([both])
    const evidence = { ...correct(), shown: new Map(), erased }
    expect(compare(evidence)).toMatchObject({ lost: [], wrong: [] })
    const states = new Map([[task, 'cancelled']])
    const cancelled = { ...evidence, records: { ...evidence.records, states } }
    expect(compare(cancelled).lost).toEqual([expect.stringMatching(/is cancelled at the end/)])
    expect(compare({ ...cancelled, erased: new Set([both, xiaomi]) }).lost).toEqual([])
  })

  it('lets erased devices be missing in the audience, but no others', () => {
    const evidence = correct({ strategy: 'ospush_only', devices: [xiaomi, both] })
    const counters = new Map([[task, evidence.records.counters.get(task)!.slice(0, 1)]])
    const short = { ...evidence, shown: new Map(), records: { ...evidence.records, counters } }
    expect(compare({ ...short, erased: new Set([both]) }).lost).toEqual([])
    expect(compare({ ...short, erased: new Set([xiaomi]) }).lost).toEqual([
      expect.stringMatching(/got nothing/),
    ])
    const none = { ...short, records: { ...short.records, counters: new Map() } }
    expect(compare({ ...none, erased: new Set([both]) }).lost).toContain(
      'task 7: 2 devices, 0 targets, 0 unreachable',
    )
  })

  it('reports a counter above or below what the vendor accepted', () => {
    for (const sent of [0, 2]) {
      const evidence = correct()
      for (const row of evidence.records.counters.get(task)!) if (row.channel === 'xiaomi') row.sent = sent
      expect(compare(evidence).wrong).toEqual([expect.stringMatching(/xiaomi accepted 1, counters/)])
    }
  })

  it('counts a second acceptance by the vendor as a duplicate', () => {
    const evidence = correct()
    const ledgers = new Map(evidence.ledgers).set('xiaomi', acceptedTwice)
    expect(compare({ ...evidence, ledgers })).toMatchObject({ duplicates: 1, wrong: [] })
  })

  it('allows two deliveries to a device only if its acknowledgement was late', () => {
    const evidence = correct()
    for (const row of evidence.records.counters.get(task)!) if (row.channel === 'xiaomi') row.sent = 2
    const twice = { ...evidence, ledgers: new Map(evidence.ledgers).set('xiaomi', acceptedBoth) }
    const handedAt = (at: number) => ({
      ...twice,
      records: { ...twice.records, handedOver: new Map([[pairName(task, both + 1000), at]]) },
    })
    expect(compare(handedAt(40))).toMatchObject({ duplicates: 1, lateAcknowledgements: 1, wrong: [] })
    expect(compare(handedAt(60)).wrong).toEqual([expect.stringMatching(/10 ms after its acknowledgement/)])
  })

  it('explains two deliveries once: by a late acknowledgement or by a response that was lost before the vendor was left', () => {
    const evidence = correct()
    const tokens = [tokenOf(xiaomi, 'xiaomi'), tokenOf(both, 'xiaomi')]
    const tasks = { 7: { ...times, accepted: 2, tokens, unheard: tokens.slice(1) } }
    const pair = pairName(task, both + 1000)
    const left: Evidence = {
      ...evidence,
      ledgers: new Map(evidence.ledgers).set('xiaomi', { tasks, unheard: 1 }),
      records: { ...evidence.records, moved: new Map([[pair, ['xiaomi']]]) },
    }
    expect(compare(left)).toMatchObject({ duplicates: 1, lateAcknowledgements: 0, wrong: [] })
    const handedOver = new Map([[pair, 40]])
    expect(compare({ ...left, records: { ...left.records, handedOver } })).toMatchObject({
      duplicates: 1,
      lateAcknowledgements: 1,
    })
  })

  describe('of a device that was sent by two vendors', () => {
    const two = find((n) => kindOf(n).alive.join() === 'huawei,oppo')
    const pair = pairName(task, two + 1000)

    /** The device was moved from huawei to oppo; both had accepted it. `unheard` names vendors whose response was lost. */
    function movedOn(
      unheard: readonly VendorChannel[],
      { moved = ['huawei'] as VendorChannel[], sent = 0, accepted = 1 } = {},
    ): Evidence {
      const evidence = correct({ devices: [xiaomi, both, two] })
      const [row] = evidence.records.counters.get(task)!
      const ledger = (channel: VendorChannel, accepted: number): VendorLedger => {
        const tokens = [tokenOf(two, channel)]
        const lost = unheard.includes(channel) ? tokens : []
        return { tasks: { 7: { ...times, accepted, tokens, unheard: lost } }, unheard: lost.length }
      }
      const counters = [
        ...evidence.records.counters.get(task)!,
        { ...row!, channel: 'huawei' as const, sent, moved: 1 - sent },
        { ...row!, channel: 'oppo' as const },
      ]
      return {
        ...evidence,
        ledgers: new Map(evidence.ledgers)
          .set('huawei', ledger('huawei', accepted))
          .set('oppo', ledger('oppo', 1)),
        records: {
          ...evidence.records,
          counters: new Map([[task, counters]]),
          moved: new Map([[pair, moved]]),
        },
      }
    }
    const sentByTwo = (left: number) =>
      expect.stringMatching(`sent by 2 of its vendors, and left ${left} after a lost response`)
    const wrongCounter = expect.stringMatching(/huawei accepted 1, counters/)

    it('allows it as a duplicate if it was moved after a lost response', () => {
      expect(compare(movedOn(['huawei']))).toEqual({
        deliveries: 4,
        duplicates: 1,
        lateAcknowledgements: 0,
        lost: [],
        wrong: [],
      })
      expect(compare(movedOn(['huawei', 'oppo']))).toMatchObject({ duplicates: 1, wrong: [] })
    })

    it('allows it if the worker had it in flight when it was stopped, for this vendor and task only', () => {
      const stopped = (place: string) => compare({ ...movedOn([]), unrecorded: new Set([place]) })
      expect(stopped(`${pair}/huawei`)).toMatchObject({ duplicates: 1, wrong: [] })
      for (const other of [`${pair}/oppo`, `8${pair.slice(1)}/huawei`])
        expect(stopped(other).wrong).toEqual([sentByTwo(0), wrongCounter])
    })

    it('counts a repetition by the first vendor in addition', () => {
      expect(compare(movedOn(['huawei'], { accepted: 2 }))).toMatchObject({ duplicates: 2, wrong: [] })
    })

    it('reports it if no response was lost', () => {
      expect(compare(movedOn([]))).toMatchObject({ duplicates: 0, wrong: [sentByTwo(0), wrongCounter] })
    })

    it('reports it if only the response of the vendor to which it was moved was lost', () => {
      expect(compare(movedOn(['oppo'])).wrong).toEqual([sentByTwo(0), wrongCounter])
    })

    it('reports it if it was not moved, although a response was lost', () => {
      expect(compare(movedOn(['huawei'], { moved: [], sent: 1 })).wrong).toEqual([sentByTwo(0)])
    })

    it('reports it if it is counted as sent by the vendor that it left', () => {
      expect(compare(movedOn(['huawei'], { sent: 1 })).wrong).toEqual([wrongCounter])
    })

    it('lets the lost response of one device explain the counter of no other', () => {
      const evidence = movedOn(['huawei'])
      const huawei = evidence.ledgers.get('huawei')!.tasks[7]!
      huawei.tokens.push(
        tokenOf(
          find((n) => kindOf(n).alive.join() === 'huawei'),
          'huawei',
        ),
      )
      huawei.accepted++
      expect(compare(evidence).wrong).toEqual([expect.stringMatching(/huawei accepted 2, counters/)])
    })

    it('lets another task explain nothing', () => {
      const evidence = movedOn([])
      const { tasks } = evidence.ledgers.get('huawei')!
      tasks[8] = { ...tasks[7]!, unheard: [tokenOf(two, 'huawei')] }
      expect(compare(evidence).wrong).toEqual([sentByTwo(0), wrongCounter])
    })
  })

  it('includes the devices of the flooding application', () => {
    const evidence = correct()
    const n = population.ids.length + xiaomi
    const ids = Object.assign([...population.ids], { [n]: 5000 })
    const flooded = {
      task: 8,
      request: { ...evidence.accepted[0]!.request, devices: [n], strategy: 'ospush_only' as const },
    }
    const counter = { ...evidence.records.counters.get(task)![0]!, task: 8 }
    const all: Evidence = {
      ...evidence,
      accepted: [...evidence.accepted, flooded],
      population: { ids } as unknown as Population,
      records: {
        ...evidence.records,
        states: new Map([...evidence.records.states, [8, 'finished']]),
        counters: new Map([...evidence.records.counters, [8, [counter]]]),
      },
    }
    expect(compare(all)).toMatchObject({
      lost: [expect.stringMatching(/device 5000 .*got nothing/)],
      wrong: [expect.stringMatching(/task 8: xiaomi accepted 0/)],
    })
    const ledger = evidence.ledgers.get('xiaomi')!
    const tasks = { ...ledger.tasks, 8: { accepted: 1, tokens: [tokenOf(n, 'xiaomi')], ...times } }
    const ledgers = new Map(evidence.ledgers).set('xiaomi', { ...ledger, tasks })
    expect(compare({ ...all, ledgers })).toMatchObject({ deliveries: 3, duplicates: 0, lost: [], wrong: [] })
  })

  it('reports devices of the audience that are neither targets nor unreachable', () => {
    const evidence = correct({ strategy: 'ospush_only', devices: [xiaomi, xiaomi] })
    const counters = new Map([[task, evidence.records.counters.get(task)!.slice(0, 1)]])
    expect(
      compare({ ...evidence, shown: new Map(), records: { ...evidence.records, counters } }).lost,
    ).toEqual(['task 7: 2 devices, 1 targets, 0 unreachable'])
  })
})

describe('the resources after a drill', () => {
  const before: Resources = {
    memory: { api: 100 },
    descriptors: { api: 50 },
    postgres: 40,
    idleInTransaction: 0,
    queue: 30,
  }

  it('may be the same as before', () => {
    expect(findLeaks(before, before)).toEqual([])
  })

  it.each<[string, Partial<Resources>]>([
    ['memory', { memory: { api: 500 } }],
    ['descriptors', { descriptors: { api: 400 } }],
    ['connections to Postgres', { postgres: 150 }],
    ['connections to the queue', { queue: 120 }],
    ['open transactions', { idleInTransaction: 1 }],
  ])('leak if %s stay higher', (_, leaked) => {
    expect(findLeaks(before, { ...before, ...leaked })).toHaveLength(1)
  })
})

it('counts the lost responses in the metrics of a worker', () => {
  const text = `# TYPE herald_outcomes_total counter
herald_outcomes_total{program="worker",channel="fcm",outcome="unavailable",code="timeout"} 12
herald_outcomes_total{program="worker",channel="fcm",outcome="unavailable",code="none"} 1000
herald_outcomes_total{program="worker",channel="fcm",outcome="unavailable",code="http_503"} 400
herald_outcomes_total{program="worker",channel="fcm",outcome="accepted",code="none"} 7000
herald_outcomes_total{channel="fcm",outcome="unavailable",code="UNAVAILABLE"} 50
herald_outcomes_total{outcome="unavailable",code="network",channel="oppo"} 3
`
  expect(countLost(text)).toBe(15)
})
