import { randomBytes } from 'node:crypto'
import { until } from '@herald/testkit'
import { beforeAll, expect, it } from '@jest/globals'
import { readSession, taskMemory } from '../src/certificates/index.ts'
import { createSealer, type Database } from '../src/store/index.ts'
import { addApplication, addCertificate, useDatabase } from './setup.ts'

const db = useDatabase({ max: 10 })
let certificateId: number
const sealer = createSealer(randomBytes(32))
beforeAll(async () => {
  certificateId = await addCertificate(db, await addApplication(db), 'huawei', { sealer })
})

const accessTokenOf = async (...args: Parameters<typeof readSession>) => (await readSession(...args)).value

/** The same database, where the reply to a statement of this name arrives after `gate`. */
function slowAfter(name: string, gate: Promise<void>): Database {
  const query = async (statement: { name: string }) => {
    const result = await db.pool.query(statement as never)
    if (statement.name === name) await gate
    return result
  }
  return { ...db, pool: { query } as unknown as Database['pool'] }
}

const minting = (minted: string[]) => async () => {
  minted.push(`token ${minted.length + 1}`)
  return { value: minted.at(-1)!, renewAt: Date.now() + 600_000, expiresAt: Date.now() + 900_000 }
}

it('gets one access token for many concurrent callers', async () => {
  const minted: string[] = []
  const asked = Array.from({ length: 60 }, () =>
    accessTokenOf(db, sealer, { certificateId, key: 'many' }, minting(minted)),
  )
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['token 1']))
  expect(minted).toEqual(['token 1'])
})

it('uses the access token that another caller stored between its read and its claim', async () => {
  const minted: string[] = []
  const gate = Promise.withResolvers<void>()
  const late = accessTokenOf(
    slowAfter('session-read', gate.promise),
    sealer,
    { certificateId, key: 'late' },
    minting(minted),
  )
  expect(await accessTokenOf(db, sealer, { certificateId, key: 'late' }, minting(minted))).toBe('token 1')
  gate.resolve()
  expect(await late).toBe('token 1')
  expect(minted).toEqual(['token 1'])
})

it('uses the access token of another caller when its own took too long', async () => {
  const minted: string[] = []
  const gate = Promise.withResolvers<void>()
  const slow = accessTokenOf(
    slowAfter('session-claim', gate.promise),
    sealer,
    { certificateId, key: 'slow' },
    minting(minted),
  )
  const claimed = async () =>
    (await db.pool.query(`SELECT 1 FROM vendor_session WHERE key = 'slow'`)).rowCount === 1
  while (!(await claimed())) await new Promise((resolve) => setTimeout(resolve, 10))
  await db.pool.query(
    `UPDATE vendor_session SET minting_until = now() - interval '1 second' WHERE key = 'slow'`,
  )
  expect(await accessTokenOf(db, sealer, { certificateId, key: 'slow' }, minting(minted))).toBe('token 1')
  gate.resolve()
  expect(await slow).toBe('token 1')
  expect(minted).toEqual(['token 1', 'token 2'])
})

const failing =
  (errors: Error[], gate = Promise.resolve()) =>
  async (): Promise<never> => {
    const error = new Error(`failure ${errors.length + 1}`)
    errors.push(error)
    await gate
    throw error
  }

it('uses an access token that is still valid when its renewal fails, and renews it later', async () => {
  const place = { certificateId, key: 'early' }
  await accessTokenOf(db, sealer, place, minting([]))
  const change = (columns: string) =>
    db.pool.query(`UPDATE vendor_session SET ${columns} WHERE certificate_id = $1 AND key = 'early'`, [
      certificateId,
    ])
  await change(`renew_at = now() - interval '1 second'`)
  const errors: Error[] = []
  const kept = await readSession(db, sealer, place, failing(errors))
  expect(kept).toEqual({ value: 'token 1', freshFor: 30, renewalError: errors[0] })
  await change(`minting_until = minting_until + interval '1 hour'`)
  expect(await readSession(db, sealer, place, failing(errors))).toEqual({ value: 'token 1', freshFor: 0 })
  expect(errors).toHaveLength(1)
  await change(`minting_until = NULL, expires_at = now() + interval '25 seconds'`)
  expect((await readSession(db, sealer, place, failing(errors))).freshFor).toBeLessThanOrEqual(25)
  await change('minting_until = NULL')
  await expect(accessTokenOf(db, sealer, place, failing(errors), 'token 1')).rejects.toThrow('failure 3')
  await change('minting_until = NULL, expires_at = now()')
  await expect(accessTokenOf(db, sealer, place, failing(errors))).rejects.toThrow('failure 4')
})

it('gives all callers that wait for an access token the error of the one request', async () => {
  const errors: Error[] = []
  const gate = Promise.withResolvers<void>()
  let reads = 0
  const query = async (statement: { name: string }) => {
    const result = await db.pool.query(statement as never)
    if (statement.name === 'session-read' && ++reads > 32) gate.resolve()
    return result
  }
  const counting = { ...db, pool: { query } as unknown as Database['pool'] }
  const asked = Array.from({ length: 32 }, () =>
    accessTokenOf(counting, sealer, { certificateId, key: 'down' }, failing(errors, gate.promise)),
  )
  const results = await Promise.allSettled(asked)
  expect(errors).toHaveLength(1)
  for (const result of results) expect('reason' in result && result.reason).toBe(errors[0])
})

it('asks for an access token again only after a pause, in all processes', async () => {
  const place = { certificateId, key: 'pause' }
  await expect(accessTokenOf(db, sealer, place, failing([]))).rejects.toThrow('failure 1')
  const change = (until: string) =>
    db.pool.query(
      `UPDATE vendor_session SET minting_until = ${until} WHERE key = 'pause' AND minting_until > now()`,
    )
  expect((await change(`now() + interval '1 hour'`)).rowCount).toBe(1)
  let reads = 0
  const query = async (statement: { name: string }) => {
    if (statement.name === 'session-read') reads++
    return db.pool.query(statement as never)
  }
  const counting = { ...db, pool: { query } as unknown as Database['pool'] }
  const minted: string[] = []
  const asked = [counting, { ...counting }].map((one) => accessTokenOf(one, sealer, place, minting(minted)))
  await until(() => reads >= 8)
  expect(minted).toEqual([])
  await change(`now() - interval '1 second'`)
  expect(await Promise.all(asked)).toEqual(['token 1', 'token 1'])
  expect(minted).toEqual(['token 1'])
})

it('shares an access token among certificates under a key without a certificate', async () => {
  const minted: string[] = []
  const asked = Array.from({ length: 20 }, () => accessTokenOf(db, sealer, { key: 'team' }, minting(minted)))
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['token 1']))
  expect(await accessTokenOf(db, sealer, { certificateId, key: 'team' }, minting(minted))).toBe('token 2')
  expect(await accessTokenOf(db, sealer, { key: 'team' }, minting(minted), 'token 1')).toBe('token 3')
  expect(await accessTokenOf(db, sealer, { key: 'team' }, minting(minted))).toBe('token 3')
  const { rows } = await db.pool.query(`SELECT sealed FROM shared_session WHERE key = 'team'`)
  expect(rows[0].sealed.includes('token 3')).toBe(false)
})

it('removes shared access tokens that nobody has used for a day', async () => {
  const minted: string[] = []
  await accessTokenOf(db, sealer, { key: 'unused' }, minting(minted))
  await accessTokenOf(db, sealer, { key: 'expired' }, minting(minted))
  await db.pool.query(
    `UPDATE shared_session SET expires_at = now() - CASE key WHEN 'unused' THEN interval '25 hours' ELSE interval '1 hour' END,
       minting_until = now() - interval '1 hour' -- as after a failed renewal
     WHERE key IN ('unused', 'expired')`,
  )
  await accessTokenOf(db, sealer, { key: 'other' }, minting(minted))
  const { rows } = await db.pool.query(`SELECT key FROM shared_session WHERE key IN ('unused', 'expired')`)
  expect(rows).toEqual([{ key: 'expired' }])
})

it('keeps the value of a task that another process made because the first took too long', async () => {
  const claimed = Promise.withResolvers<void>()
  const failing = Promise.withResolvers<string>()
  const late = taskMemory(db, 7, certificateId, 'picture', () => {
    claimed.resolve()
    return failing.promise
  })
  await claimed.promise
  await db.pool.query(`UPDATE task_memory SET making_until = now() - interval '1 second' WHERE task_id = 7`)
  const value = await taskMemory(db, 7, certificateId, 'picture', async () => {
    // The first one ends while the second makes its value.
    failing.reject(new Error('refused'))
    await expect(late).rejects.toThrow('refused')
    return 'second'
  })
  const none = () => Promise.reject(new Error('made again'))
  expect([value, await taskMemory(db, 7, certificateId, 'picture', none)]).toEqual(['second', 'second'])
})

it('agrees on the value of a task that two processes made', async () => {
  const claimed = Promise.withResolvers<void>()
  const making = Promise.withResolvers<string>()
  const late = taskMemory(db, 8, certificateId, 'picture', () => {
    claimed.resolve()
    return making.promise
  })
  await claimed.promise
  await db.pool.query(`UPDATE task_memory SET making_until = now() - interval '1 second' WHERE task_id = 8`)
  expect(await taskMemory(db, 8, certificateId, 'picture', async () => 'second')).toBe('second')
  making.resolve('first')
  expect(await late).toBe('second')
})
