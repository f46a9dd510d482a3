import { until } from '@herald/testkit'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { startLoops } from '../src/loops.ts'

it('loops are woken by due work, some only by every second check', async () => {
  const rounds = { often: 0, rarely: 0, never: 0 }
  let checks = 0
  const loop = (name: keyof typeof rounds) => ({
    name,
    idleMs: 60_000,
    round: async () => ++rounds[name] < 0,
  })
  const loops = startLoops({
    checkMs: 1,
    check: async () => ++checks <= 4,
    onError: () => {},
    loops: [
      { ...loop('often'), wokenBy: (due) => due },
      { ...loop('rarely'), wokenBy: (due) => due, everyNthCheck: 2 },
      loop('never'),
    ],
  })
  await until(() => checks >= 6)
  expect(rounds).toEqual({ often: 5, rarely: 3, never: 1 })
  loops.wake('never')
  await until(() => rounds.never === 2)
  await loops.stop()
})

describe('a quiet planner', () => {
  /** What `performance.now` returns: a pause of the machine must not make the loops quiet. */
  let now = 0
  beforeEach(() => {
    jest.spyOn(performance, 'now').mockImplementation(() => now)
  })
  afterEach(() => void jest.restoreAllMocks())

  function quietLoops(due: { now: boolean }) {
    let checks = 0
    let pauses = 0
    let found = 0
    const loops = startLoops({
      checkMs: 1,
      quietAfterMs: 20,
      quietCheckMs: (is) => {
        expect(is).toBe(false)
        pauses++
        return 3_600_000
      },
      onDue: () => void found++,
      check: async () => {
        checks++
        return due.now
      },
      loops: [{ name: 'spec', idleMs: 3_600_000, round: async () => false, wokenBy: (is) => is }],
      onError: () => {},
    })
    return { loops, checks: () => checks, pauses: () => pauses, found: () => found }
  }

  it('pauses when nothing was due for a while, and checks at once when something is noted', async () => {
    const due = { now: true }
    const { loops, checks, pauses, found } = quietLoops(due)
    await until(() => checks() > 30)
    expect(found()).toBeGreaterThanOrEqual(30)
    expect(loops.isQuiet()).toBe(false)
    expect(pauses()).toBe(0)
    due.now = false
    now += 21
    await until(() => pauses() === 1)
    expect(loops.isQuiet()).toBe(true)
    const before = checks()
    loops.note()
    expect(loops.isQuiet()).toBe(false)
    await until(() => checks() > before + 1)
    now += 21
    await until(() => pauses() === 2)
    await loops.stop()
  })
})
