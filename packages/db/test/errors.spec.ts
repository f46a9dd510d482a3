import { afterEach, expect, it, jest } from '@jest/globals'
import {
  CommitInDoubt,
  isConnectionLost,
  isInDoubt,
  isUnreachable,
  retrying,
  retryingStatement,
} from '../src/store/errors.ts'

afterEach(() => {
  jest.restoreAllMocks()
})

const lost = () => Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })

it('retries after a lost connection although the clock was set ahead', async () => {
  const real = Date.now
  let tries = 0
  const result = await retrying(async () => {
    tries++
    if (tries > 1) return 'done'
    jest.spyOn(Date, 'now').mockImplementation(() => real() + 3_600_000)
    throw lost()
  })
  expect([result, tries]).toEqual(['done', 2])
})

it('gives up after `forMs` although the clock was set back', async () => {
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

it('says that a statement may have been carried out if its first reply was lost and no later attempt reached Postgres', async () => {
  const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  const failing = (first: Error) => {
    let tries = 0
    return async () => {
      throw tries++ === 0 ? first : refused()
    }
  }
  const inDoubt = expect.any(CommitInDoubt)
  const ends = async (end: Promise<unknown>) => end.catch((error: unknown) => error)
  expect(await ends(retryingStatement(failing(lost()), { forMs: 50 }))).toEqual(inDoubt)
  expect(await ends(retryingStatement(failing(refused()), { forMs: 50 }))).toEqual(refused())
  // A transaction was not committed if another statement than its COMMIT failed.
  expect(await ends(retrying(failing(lost()), { forMs: 50 }))).not.toEqual(inDoubt)
})

it.each([
  ['a deadlock', { code: '40P01' }, false],
  ['a serialization failure', { code: '40001' }, false],
  ['a shutdown', { code: '57P01' }, true],
  ['a crash', { code: '57P02' }, true],
  ['a start', { code: '57P03' }, true],
  ['a lost connection', { code: '08006' }, true],
  ['too many connections', { code: '53300' }, true],
  ['a refused connection', { code: 'ECONNREFUSED' }, true],
  [
    'a shutdown wrapped by Prisma',
    { code: 'P2010', meta: { driverAdapterError: { cause: { originalCode: '57P01' } } } },
    true,
  ],
])('retries after %s', async (_, trouble, unreachable) => {
  const error = Object.assign(new Error('trouble'), trouble)
  let tries = 0
  const work = async () => {
    if (++tries === 1) throw error
    return 'done'
  }
  expect(await retrying(work)).toBe('done')
  expect(isUnreachable(error)).toBe(unreachable)
})

it.each([
  ['timeout exceeded when trying to connect', false, false],
  ['Query read timeout', false, true],
  ['Connection terminated due to connection timeout', true, false],
  ['Connection terminated unexpectedly', true, true],
])('%s: connection lost is %s, in doubt is %s', (message, connectionLost, inDoubt) => {
  const error = new Error(message)
  expect([isConnectionLost(error), isInDoubt(error), isUnreachable(error)]).toEqual([
    connectionLost,
    inDoubt,
    true,
  ])
})

it('does not retry an error that is not transient', async () => {
  let tries = 0
  const work = async () => {
    tries++
    throw Object.assign(new Error('unique'), { code: '23505' })
  }
  await expect(retrying(work)).rejects.toThrow('unique')
  expect(tries).toBe(1)
})

it('says that a commit may have happened if later attempts did not reach Postgres', async () => {
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
  const doubt = new CommitInDoubt(lost())
  const afterDoubt = (later: Error, forMs?: number) => {
    let tries = 0
    const work = async () => {
      throw ++tries === 1 ? doubt : later
    }
    return retrying(work, { forMs })
  }
  await expect(afterDoubt(refused, 100)).rejects.toBe(doubt)
  const taken = Object.assign(new Error('unique'), { code: '23505' })
  await expect(afterDoubt(taken)).rejects.toBe(taken)
})
