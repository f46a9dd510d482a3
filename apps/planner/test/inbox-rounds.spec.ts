import { acceptPlan } from '@herald/testkit/accept-plan'
import { useDatabase } from '@herald/testkit/use-database'
import { describe, expect, it } from '@jest/globals'
import { erasedRound, trimRound } from '../src/inbox-rounds.ts'

const db = useDatabase()

const ended: unknown[] = []
const deps = () => ({ db, onEnded: (...args: unknown[]) => void ended.push(args) })
const waiting = async () =>
  (await db.pool.query('SELECT device_id FROM inbox ORDER BY device_id')).rows.map(
    ({ device_id }) => device_id,
  )

describe('messages for devices that were removed while they were planned', () => {
  it('expire: soon if the device was erased, otherwise with the rare search', async () => {
    // No such devices exist.
    await acceptPlan(db, 'app', { inbox: [7, 8, 9] })
    await db.pool.query('INSERT INTO erased_device (device_id) VALUES (7), (9), (10)')
    expect(await erasedRound(deps())).toBe(true)
    expect(ended.splice(0)).toEqual([['native', 'expired', 2]])
    expect(await waiting()).toEqual([8])
    expect(await erasedRound(deps())).toBe(false)
    expect(ended).toEqual([])
    await trimRound(deps())
    expect(ended.splice(0)).toEqual([['native', 'expired', 1]])
    expect(await waiting()).toEqual([])
  })
})
