import { randomBytes } from 'node:crypto'
import { beforeAll, expect, it } from '@jest/globals'
import { vendorSession } from '../src/certificates/index.ts'
import { createSealer, type Database } from '../src/store/index.ts'
import { addApplication, addCertificate, useDatabase } from './setup.ts'

const db = useDatabase({ max: 10 })
let certificateId: number
const sealer = createSealer(randomBytes(32))
beforeAll(async () => {
  certificateId = await addCertificate(db, await addApplication(db), 'huawei', sealer)
})

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
    vendorSession(db, sealer, { certificateId, key: 'many' }, minting(minted)),
  )
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['token 1']))
  expect(minted).toEqual(['token 1'])
})

it('uses the access token that another caller stored between its read and its claim', async () => {
  const minted: string[] = []
  const gate = Promise.withResolvers<void>()
  const late = vendorSession(
    slowAfter('session-read', gate.promise),
    sealer,
    { certificateId, key: 'late' },
    minting(minted),
  )
  expect(await vendorSession(db, sealer, { certificateId, key: 'late' }, minting(minted))).toBe('token 1')
  gate.resolve()
  expect(await late).toBe('token 1')
  expect(minted).toEqual(['token 1'])
})

it('uses the access token of another caller when its own took too long', async () => {
  const minted: string[] = []
  const gate = Promise.withResolvers<void>()
  const slow = vendorSession(
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
  expect(await vendorSession(db, sealer, { certificateId, key: 'slow' }, minting(minted))).toBe('token 1')
  gate.resolve()
  expect(await slow).toBe('token 1')
  expect(minted).toEqual(['token 1', 'token 2'])
})

it('shares an access token among certificates under a key without a certificate', async () => {
  const minted: string[] = []
  const asked = Array.from({ length: 20 }, () => vendorSession(db, sealer, { key: 'team' }, minting(minted)))
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['token 1']))
  expect(await vendorSession(db, sealer, { certificateId, key: 'team' }, minting(minted))).toBe('token 2')
  expect(await vendorSession(db, sealer, { key: 'team' }, minting(minted), 'token 1')).toBe('token 3')
  expect(await vendorSession(db, sealer, { key: 'team' }, minting(minted))).toBe('token 3')
  const { rows } = await db.pool.query(`SELECT sealed FROM shared_session WHERE key = 'team'`)
  expect(rows[0].sealed.includes('token 3')).toBe(false)
})

it('removes shared access tokens that nobody has used for a day', async () => {
  const minted: string[] = []
  await vendorSession(db, sealer, { key: 'unused' }, minting(minted))
  await vendorSession(db, sealer, { key: 'expired' }, minting(minted))
  await db.pool.query(
    `UPDATE shared_session SET expires_at = now() - CASE key WHEN 'unused' THEN interval '25 hours' ELSE interval '1 hour' END
     WHERE key IN ('unused', 'expired')`,
  )
  await vendorSession(db, sealer, { key: 'other' }, minting(minted))
  const { rows } = await db.pool.query(`SELECT key FROM shared_session WHERE key IN ('unused', 'expired')`)
  expect(rows).toEqual([{ key: 'expired' }])
})
