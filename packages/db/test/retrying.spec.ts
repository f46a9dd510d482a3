import { afterEach, expect, it, jest } from '@jest/globals'
import { isUnreachable, retrying } from '../src/store/errors.ts'

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

it.each([
  ['a deadlock', { code: '40P01' }, false],
  ['a serialization failure', { code: '40001' }, false],
  ['a shutdown', { code: '57P01' }, true],
  ['a crash', { code: '57P02' }, true],
  ['a start', { code: '57P03' }, true],
  ['a lost connection', { code: '08006' }, true],
  ['a server that takes no more connections', { code: '53300' }, true],
  ['a server that is not there', { code: 'ECONNREFUSED' }, true],
  [
    'what Prisma makes of a shutdown',
    { code: 'P2010', meta: { driverAdapterError: { cause: { originalCode: '57P01' } } } },
    true,
  ],
])('repeats after %s', async (_, trouble, unreachable) => {
  const error = Object.assign(new Error('trouble'), trouble)
  let tries = 0
  const verb = async () => {
    if (++tries === 1) throw error
    return 'done'
  }
  expect(await retrying(verb)).toBe('done')
  expect(isUnreachable(error)).toBe(unreachable)
})

it('does not repeat what cannot succeed', async () => {
  let tries = 0
  const verb = async () => {
    tries++
    throw Object.assign(new Error('unique'), { code: '23505' })
  }
  await expect(retrying(verb)).rejects.toThrow('unique')
  expect(tries).toBe(1)
})
