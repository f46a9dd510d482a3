import { until } from '@herald/testkit'
import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import {
  clearHolds,
  closeBreaker,
  closeCertificate,
  openBreaker,
  reopenCertificate,
  storeHold,
} from '../src/certificates/index.ts'
import { openDatabase } from '../src/store/index.ts'
import { applyRetention } from '../src/tasks/index.ts'
import {
  changesOf,
  createGroup,
  createUser,
  removeGroup,
  renewApplicationSecret,
  revokeAdminTokens,
} from '../src/tenants/index.ts'
import { addApplication, addCertificate, useDatabase } from './setup.ts'

const db = useDatabase()

const realNow = performance.now.bind(performance)
let skipped = 0
beforeEach(() => {
  jest.spyOn(performance, 'now').mockImplementation(() => realNow() + skipped)
})

/** A process of its own: `seen` returns what was reported since the last call, asking at once. */
function listener() {
  const changes = changesOf({ ...db })
  const seen: string[] = []
  changes.onApplications(({ all, ids }) => seen.push(...(all ? ['all'] : ids)))
  changes.onUsers(({ all, ids }) =>
    seen.push(...(all ? ['all users'] : [...ids].map((id) => `users of ${id}`))),
  )
  return {
    changes,
    async seen() {
      skipped += 1_000
      await changes.refreshed()
      return seen.splice(0).sort()
    },
  }
}

describe('changes of applications', () => {
  it('of before the first look are not reported later, although an older transaction is open', async () => {
    const older = await db.pool.connect()
    try {
      await older.query('BEGIN; SELECT pg_current_xact_id()')
      await addApplication(db)
      const { seen } = listener()
      expect(await seen()).toEqual(['all', 'all users'])
      expect(await seen()).toEqual([])
    } finally {
      await older.query('ROLLBACK')
      older.release()
    }
  })

  it('are reported once, by whatever process they are written', async () => {
    const application = await addApplication(db)
    const other = await addApplication(db)
    const { seen } = listener()
    expect(await seen()).toEqual(['all', 'all users'])
    expect(await seen()).toEqual([])

    const certificate = await addCertificate(db, application, 'fcm')
    expect(await seen()).toEqual([application])
    expect(await seen()).toEqual([])
    const silence = { certificateId: certificate, code: 'c', text: 't', pauses: [60], claimedAt: 0 }
    const hold = { scope: 's', kind: 'rejected' as const, code: 'c', text: 't', until: Date.now() }
    const changes: [name: string, change: () => Promise<unknown>][] = [
      ['breaker', () => openBreaker(db, silence)],
      ['breaker closed', () => closeBreaker(db, certificate)],
      ['hold', () => storeHold(db, certificate, hold)],
      ['hold ended', () => clearHolds(db, certificate)],
      ['closed', () => closeCertificate(db, certificate, { code: 'c', text: 't' })],
      ['reopened', () => reopenCertificate(db, certificate)],
      ['admin tokens', () => revokeAdminTokens(db, application)],
      ['secret', () => renewApplicationSecret(db, application)],
      [
        'by hand',
        () => db.pool.query('UPDATE application SET package_name = $1 WHERE id = $2', ['p', application]),
      ],
      ['certificate removed', () => db.pool.query('DELETE FROM certificate WHERE id = $1', [certificate])],
    ]
    for (const [name, change] of changes) {
      await change()
      expect([name, await seen()]).toEqual([name, [application]])
    }

    const made = await createUser(db, { appId: application }, { username: 'u', passwordHash: '' })
    if ('taken' in made) throw new Error('taken')
    expect(await seen()).toEqual([])
    await db.pool.query('UPDATE app_user SET token_version = token_version + 1 WHERE id = $1', [made.userId])
    expect(await seen()).toEqual([`users of ${application}`])
    await db.pool.query(`UPDATE app_user SET username = 'v' WHERE id = $1`, [made.userId])
    expect(await seen()).toEqual([])
    const group = await createGroup(db, application, 'g')
    expect(await seen()).toEqual([])
    await removeGroup(db, application, (group as { groupId: bigint }).groupId)
    expect(await seen()).toEqual([`users of ${application}`])
    await db.pool.query('DELETE FROM application WHERE id = ANY($1)', [[application, other]])
    expect(await seen()).toEqual([application, other, `users of ${application}`].sort())
    await db.pool.query('TRUNCATE certificate_hold')
    expect(await seen()).toEqual(['all', 'all users'])
  })

  it('are not missed if their transaction commits after later ones', async () => {
    const [early, late] = [await addApplication(db), await addApplication(db)]
    const { seen } = listener()
    await seen()
    const client = await db.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query(`UPDATE application SET package_name = 'x' WHERE id = $1`, [late])
      await revokeAdminTokens(db, early)
      expect(await seen()).toEqual([early])
      expect(await seen()).toEqual([])
      await client.query('COMMIT')
    } finally {
      client.release()
    }
    expect(await seen()).toEqual([late])
    expect(await seen()).toEqual([])
  })

  it('cost one statement per second for all applications, and none if nobody asks', async () => {
    const second = openDatabase(db.url, { max: 2, waitMs: 60_000 })
    try {
      const query = jest.spyOn(second.pool, 'query')
      const changes = changesOf(second)
      expect(changesOf(second)).toBe(changes)
      skipped += 1_000
      // The clock stands still, however long the statement takes. A whole number: sums of fractions are rounded.
      const now = Math.ceil(realNow()) + skipped
      const clock = jest.spyOn(performance, 'now').mockReturnValue(now)
      await Promise.all(Array.from({ length: 100 }, () => changes.refreshed()))
      expect(query).toHaveBeenCalledTimes(1)
      expect(changes.refreshed()).toBeUndefined()
      clock.mockReturnValue(now + 1_000)
      await changes.refreshed()
      expect(query).toHaveBeenCalledTimes(2)
    } finally {
      await second.close()
    }
  })

  it('are all reported after a long pause, and after a change of the server', async () => {
    const application = await addApplication(db)
    const { seen, changes } = listener()
    await seen()
    await revokeAdminTokens(db, application)
    await db.pool.query(`UPDATE change SET at = at - interval '2 hours'`)
    await applyRetention(db, 30)
    expect((await db.pool.query('SELECT FROM change')).rowCount).toBe(0)
    const query = db.pool.query.bind(db.pool)
    const later = jest.spyOn(db.pool, 'query').mockImplementation((async (statement: { name?: string }) => {
      const result = await query(statement as never)
      if (statement.name === 'changes')
        (result as { rows: unknown[][] }).rows[0]![1] = Date.now() / 1000 + 1_000
      return result
    }) as never)
    expect(await seen()).toEqual(['all', 'all users'])
    later.mockImplementation((async (statement: { name?: string }) => {
      const result = await query(statement as never)
      if (statement.name === 'changes') (result as { rows: unknown[][] }).rows[0]![0] = '3'
      return result
    }) as never)
    expect(await seen()).toEqual(['all', 'all users'])
    later.mockRestore()
    await until(() => changes.refreshed() === undefined)
  })
})
