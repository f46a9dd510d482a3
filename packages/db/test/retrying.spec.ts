import { afterEach, expect, it, jest } from '@jest/globals'
import { retrying } from '../src/retrying.ts'

afterEach(() => {
  jest.restoreAllMocks()
})

const lost = () => Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })

it('repeats through a lost connection although the clock is set ahead meanwhile', async () => {
  const real = Date.now
  let tries = 0
  const answer = await retrying(async () => {
    tries++
    if (tries > 1) return 'done'
    jest.spyOn(Date, 'now').mockImplementation(() => real() + 3_600_000)
    throw lost()
  })
  expect([answer, tries]).toEqual(['done', 2])
})

it('gives up when its time is over although the clock is set back meanwhile', async () => {
  const real = Date.now
  jest.spyOn(Date, 'now').mockImplementation(() => real() - 3_600_000)
  await expect(
    retrying(
      async () => {
        throw lost()
      },
      { forMs: 50 },
    ),
  ).rejects.toThrow('Connection terminated')
})
