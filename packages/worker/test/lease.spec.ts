import type { Database } from '@herald/db/store'
import type { ClaimedBatch } from '@herald/db/tasks'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { keepLeases, type Leases, loseLease } from '../src/lease.ts'

const batch = () => ({ taskId: 1, id: 2, version: 1 }) as ClaimedBatch

/** A database in which only the renewal works, answered by the spec. */
const databaseThat = (answer: () => Promise<unknown[]>) =>
  ({ pool: { query: async () => ({ rows: await answer() }) } }) as unknown as Database

describe('keepLeases', () => {
  let leases: Leases | undefined
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['performance'] })
  })
  afterEach(() => {
    leases?.end()
    jest.useRealTimers()
  })

  it('does not let a process send that was frozen longer than its lease', () => {
    const one = batch()
    const frozenSince = performance.now() - 31_000
    leases = keepLeases(
      databaseThat(async () => [[1, 2]]),
      [one],
      frozenSince,
      () => false,
    )
    expect(leases.signalOf(one).aborted).toBe(true)
  })

  it('aborts by the clock when the renewal hangs', async () => {
    const one = batch()
    const nearlyOver = performance.now() - 26_000
    leases = keepLeases(
      databaseThat(() => new Promise(() => {})),
      [one],
      performance.now(),
      () => false,
    )
    const { signal } = { signal: leases.signalOf(one) }
    expect(signal.aborted).toBe(false)
    leases.end()
    leases = keepLeases(
      databaseThat(() => new Promise(() => {})),
      [one],
      nearlyOver,
      () => false,
    )
    const late = leases
    await jest.advanceTimersByTimeAsync(8_000)
    expect(late.signalOf(one).aborted).toBe(true)
  })

  it('aborts a batch that another worker has, but not one whose own settle is in progress', async () => {
    const [lost, writing] = [batch(), { ...batch(), id: 3 } as ClaimedBatch]
    leases = keepLeases(
      databaseThat(async () => []),
      [lost, writing],
      performance.now(),
      (one) => one === writing,
    )
    await jest.advanceTimersByTimeAsync(8_000)
    expect(leases.signalOf(lost).aborted).toBe(true)
    expect(leases.signalOf(writing).aborted).toBe(false)
  })

  it('aborts 25 s after the last renewal, not at the next round', async () => {
    jest.useFakeTimers()
    const one = batch()
    let renewals = 0
    leases = keepLeases(
      databaseThat(() => (++renewals === 1 ? Promise.resolve([[1, 2]]) : new Promise(() => {}))),
      [one],
      performance.now(),
      () => false,
    )
    const signal = leases.signalOf(one)
    // The round after 8 s renews it, the one after 16 s gets no reply.
    await jest.advanceTimersByTimeAsync(32_999)
    expect(signal.aborted).toBe(false)
    await jest.advanceTimersByTimeAsync(1)
    expect([signal.aborted, renewals]).toEqual([true, 2])
  })

  it('aborts a batch at once when a settle found it lost', () => {
    const [lost, kept] = [batch(), { ...batch(), id: 3 } as ClaimedBatch]
    leases = keepLeases(
      databaseThat(async () => []),
      [lost, kept],
      performance.now(),
      () => false,
    )
    loseLease(lost)
    expect([leases.signalOf(lost).aborted, leases.signalOf(kept).aborted]).toEqual([true, false])
  })

  it('ends a call for many batches only when all of their leases are lost', async () => {
    const [one, other] = [batch(), { ...batch(), id: 3 } as ClaimedBatch]
    let alive: number[][] = [[1, 3]]
    leases = keepLeases(
      databaseThat(async () => alive),
      [one, other],
      performance.now(),
      () => false,
    )
    const signal = leases.signalOfAll()
    await jest.advanceTimersByTimeAsync(8_000)
    expect([leases.isLost(one), leases.isLost(other), signal.aborted]).toEqual([true, false, false])
    alive = []
    await jest.advanceTimersByTimeAsync(8_000)
    expect([leases.isLost(other), signal.aborted]).toEqual([true, true])
  })

  it('ends a call for many batches when the leases could not be renewed', () => {
    const one = batch()
    leases = keepLeases(
      databaseThat(async () => [[1, 2]]),
      [one],
      performance.now() - 26_000,
      () => false,
    )
    expect([leases.signalOfAll().aborted, leases.isLost(one)]).toEqual([true, true])
  })
})
