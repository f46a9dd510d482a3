import type { Database } from '@herald/db/store'
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
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
