import type { Database } from '@herald/db/store'
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { joinGateways } from '../src/node-lease.ts'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

it('a gateway that cannot renew stops writing before its lease is over, and goes on when it can', async () => {
  let away = false
  const query = async () => {
    if (away) throw new Error('Postgres is away')
    return { rows: [[1]] }
  }
  const lease = await joinGateways({
    db: { pool: { query } } as unknown as Database,
    nodeId: 'spec',
    onRejoin: () => {},
    onRenewed: () => {},
    onTrouble: () => {},
  })
  await jest.advanceTimersByTimeAsync(60_000)
  expect(lease.mayWrite()).toBe(true)
  away = true
  await jest.advanceTimersByTimeAsync(4_000)
  expect(lease.mayWrite()).toBe(true)
  // The last renewal gave it ten seconds.
  await jest.advanceTimersByTimeAsync(4_000)
  expect(lease.mayWrite()).toBe(false)
  away = false
  await jest.advanceTimersByTimeAsync(2_000)
  expect(lease.mayWrite()).toBe(true)
  await lease.leave()
})
