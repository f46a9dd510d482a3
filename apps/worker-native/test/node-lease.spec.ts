import type { Database } from '@herald/db/store'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { joinGateways } from '../src/node-lease.ts'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

it('a gateway that cannot renew stops writing before its lease expires, and continues when it can', async () => {
  let isDown = false
  const query = async () => {
    if (isDown) throw new Error('Postgres is down')
    return { rows: [[1]] }
  }
  const lease = await joinGateways({
    db: { pool: { query } } as unknown as Database,
    nodeId: 'spec',
    onRejoin: () => {},
    onRenewed: () => {},
    onPostgresError: () => {},
  })
  await jest.advanceTimersByTimeAsync(60_000)
  expect(lease.mayWrite()).toBe(true)
  isDown = true
  await jest.advanceTimersByTimeAsync(4_000)
  expect(lease.mayWrite()).toBe(true)
  // The last renewal was for ten seconds.
  await jest.advanceTimersByTimeAsync(4_000)
  expect(lease.mayWrite()).toBe(false)
  isDown = false
  await jest.advanceTimersByTimeAsync(2_000)
  expect(lease.mayWrite()).toBe(true)
  await lease.leave()
})

describe('a gateway without connections', () => {
  async function join() {
    const leases: number[] = []
    const state = { isEmpty: true, isLost: false }
    const query = async ({ name, values }: { name: string; values: unknown[] }) => {
      if (name === 'renew-node') leases.push(values[1] as number)
      if (state.isLost) throw new Error('the answer is lost')
      return { rows: [[1]] }
    }
    const lease = await joinGateways({
      db: { pool: { query } } as unknown as Database,
      nodeId: 'spec',
      isEmpty: () => state.isEmpty,
      onRejoin: () => {},
      onRenewed: () => {},
      onPostgresError: () => {},
    })
    return { lease, leases, state }
  }

  it('renews a longer lease less often, and a short one as soon as a device connects', async () => {
    const { lease, leases, state } = await join()
    await jest.advanceTimersByTimeAsync(10_000)
    expect(new Set(leases)).toEqual(new Set([10]))
    leases.length = 0
    await jest.advanceTimersByTimeAsync(120_000)
    expect(new Set(leases)).toEqual(new Set([60]))
    expect(leases.length).toBeLessThan(8)
    expect(lease.mayWrite()).toBe(true)
    leases.length = 0
    state.isEmpty = false
    lease.shorten()
    await jest.advanceTimersByTimeAsync(0)
    expect(leases).toEqual([10])
    await jest.advanceTimersByTimeAsync(10_000)
    expect(leases).toEqual([10, 10, 10, 10, 10, 10])
    // Messages that the last connection did not acknowledge wait for the end of the lease.
    state.isEmpty = true
    await jest.advanceTimersByTimeAsync(8_000)
    expect(leases.slice(6)).toEqual([10, 10, 10, 10])
    await lease.leave()
  })

  it('stops writing in time if the answer to the shorter lease is lost', async () => {
    const { lease, state } = await join()
    await jest.advanceTimersByTimeAsync(60_000)
    state.isEmpty = false
    state.isLost = true
    lease.shorten()
    await jest.advanceTimersByTimeAsync(6_000)
    expect(lease.mayWrite()).toBe(true)
    await jest.advanceTimersByTimeAsync(2_000)
    expect(lease.mayWrite()).toBe(false)
    await lease.leave()
  })
})
