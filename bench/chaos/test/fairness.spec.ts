import type { VendorChannel } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { parseStat, shareOfOthers, ticksOfTree } from '../cpu-share.ts'
import { type FairnessRun, fairnessOf, findUnfairness } from '../fairness.ts'
import type { VendorLedger } from '../vendors.ts'

const accepted = (firstAt: number, lastAt = firstAt) => ({
  accepted: 1,
  tokens: ['t'],
  unheard: [],
  firstAt,
  lastAt,
})

/** Twenty single pushes each, and one broadcast by two vendors; `slow` of the pushes during the flood take `ms`. */
function run({ slow = 0, ms = 100, broadcastMs = 2000 } = {}) {
  const singles = (from: number) =>
    Array.from({ length: 20 }, (_, n) => ({ task: from + n, calledAt: 1000, acceptedAt: 1030 }))
  const fairnessRun: FairnessRun = {
    quiet: { singles: singles(100), broadcasts: [{ task: 1, calledAt: 1000, acceptedAt: 1030 }] },
    flooded: { singles: singles(200), broadcasts: [{ task: 2, calledAt: 1000, acceptedAt: 1030 }] },
    floodSent: 1800,
    floodAccepted: 900,
    floodDelivered: 400,
    othersCpu: 0,
  }
  const ledgers = new Map<VendorChannel, VendorLedger>([
    [
      'xiaomi',
      {
        unheard: 0,
        tasks: Object.fromEntries([
          ['1', accepted(1100, 2000)],
          ['2', accepted(1100, 1500)],
          ...fairnessRun.quiet.singles.map(({ task }) => [task, accepted(1050)]),
          ...fairnessRun.flooded.singles.map(({ task }, n) => [task, accepted(n < slow ? 1000 + ms : 1100)]),
        ]),
      },
    ],
    [
      'oppo',
      {
        unheard: 0,
        tasks: { 1: accepted(1100, 1800), 2: accepted(1100, 1000 + broadcastMs), 200: accepted(9000) },
      },
    ],
  ])
  return { fairnessRun, ledgers, fairness: fairnessOf(fairnessRun, ledgers) }
}

describe('fairness during a flood', () => {
  it('compares the single pushes and broadcasts with those without a flood', () => {
    expect(run().fairness).toEqual({
      singles: 20,
      p95: 100,
      quietP95: 50,
      acceptP95: 30,
      // Twice as slow: exactly an equal share.
      broadcastShare: 1,
      isJudged: true,
      floodSent: 1800,
      floodAccepted: 900,
      floodDelivered: 400,
      othersCpu: 0,
    })
  })

  it('is violated if more than one of twenty pushes takes over two seconds', () => {
    expect(findUnfairness(run({ slow: 2, ms: 2000 }).fairness)).toEqual([])
    expect(findUnfairness(run({ slow: 2, ms: 2001 }).fairness)).toEqual([
      expect.stringMatching(/took up to 2001 ms/),
    ])
  })

  it('is violated by a push that no vendor got', () => {
    const { fairnessRun, ledgers } = run()
    for (const ledger of ledgers.values()) for (const task of [218, 219]) delete ledger.tasks[task]
    expect(findUnfairness(fairnessOf(fairnessRun, ledgers))).toHaveLength(1)
  })

  it('is violated if broadcasts get less than half of an equal share', () => {
    expect(findUnfairness(run({ broadcastMs: 4000 }).fairness)).toEqual([])
    expect(findUnfairness(run({ broadcastMs: 4100 }).fairness)).toEqual([
      expect.stringMatching(/0\.49 of an equal share/),
    ])
  })

  it('is not judged if other programs used the machine, or if that is unknown', () => {
    for (const othersCpu of [0.3, undefined]) {
      const { fairnessRun, ledgers } = run({ slow: 20, ms: 5000 })
      const fairness = fairnessOf({ ...fairnessRun, othersCpu }, ledgers)
      expect(fairness).toMatchObject({ isJudged: false, p95: 5000 })
      expect(findUnfairness(fairness)).toEqual([])
    }
  })
})

describe('the CPU time of others', () => {
  it('is what the tree of our processes did not use', () => {
    const stat = (pid: number, parent: number, ticks: number) =>
      parseStat(`${pid} (a b) c) S ${parent} ${'0 '.repeat(9)}${ticks} 2 3 4 20 0 1`)
    const processes = [stat(10, 1, 5), stat(11, 10, 10), stat(12, 11, 20), stat(13, 1, 1000)]
    expect(processes[0]).toEqual({ pid: 10, parent: 1, ticks: 14 })
    expect(ticksOfTree(10, processes)).toBe(14 + 19 + 29)
    const before = { all: 1000, used: 500, ours: 100 }
    expect(shareOfOthers(before, { all: 2000, used: 1200, ours: 500 })).toBeCloseTo(0.3)
    expect(shareOfOthers(before, { all: 2000, used: 600, ours: 250 })).toBe(0)
  })
})
