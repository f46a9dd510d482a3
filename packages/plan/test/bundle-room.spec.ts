import type { Database } from '@herald/db/store'
import { until } from '@herald/testkit'
import { afterEach, expect, it, jest } from '@jest/globals'
import { createBundleRoom } from '../src/bundle-room.ts'

const READ_EVERY_MS = 500

afterEach(() => {
  jest.restoreAllMocks()
})

it('reads how many bundles wait one reading at a time', async () => {
  const started = performance.now()
  let later = 0
  jest.spyOn(performance, 'now').mockImplementation(() => started + later)
  const readings: PromiseWithResolvers<never>[] = []
  const query = () => {
    const reading = Promise.withResolvers<never>()
    readings.push(reading)
    return reading.promise
  }
  const mayWait = createBundleRoom({ pool: { query } } as unknown as Database)
  await until(() => readings.length === 1)
  for (; later < 10 * READ_EVERY_MS; later += READ_EVERY_MS) expect(mayWait()).toBe(true)
  await new Promise(setImmediate)
  expect(readings).toHaveLength(1)
  readings[0]!.reject(new Error('away') as never)
  await until(() => {
    later += READ_EVERY_MS
    mayWait()
    return readings.length === 2
  })
})
