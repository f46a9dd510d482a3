import { until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { bind, markSuspect, retireReported, updateSuspects } from '../src/devices/index.ts'
import type { Database } from '../src/store/index.ts'
import { claimBatches, settleBatches } from '../src/tasks/index.ts'
import { addApplication, addCertificate, settlementOf, useDatabase } from './setup.ts'

const db = useDatabase()

let app: string
let certificateId: number
beforeEach(async () => {
  app = await addApplication(db)
  certificateId = await addCertificate(db, app, 'fcm')
})

const bindToken = (deviceId: number, token: string) =>
  bind(db, { appId: app, deviceId, channel: 'fcm', token, environment: 'production' })
const tokens = async () =>
  (await db.pool.query('SELECT token FROM binding WHERE app_id = $1 ORDER BY token', [app])).rows.map(
    ({ token }) => token as string,
  )

/** Adds devices; their tokens are `t` and their id. */
async function addDevices(count: number): Promise<number[]> {
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, push_token)
     SELECT $1, 'g' || n, $1 || n FROM generate_series(1, $2::int) n RETURNING id`,
    [app, count],
  )
  const ids = rows.map(({ id }) => id)
  await db.pool.query(
    `INSERT INTO binding (device_id, channel, app_id, token) SELECT id, 'fcm', $1, 't' || id FROM unnest($2::bigint[]) id`,
    [app, ids],
  )
  return ids
}

/** Adds a released batch for these devices. */
async function release(recipients: number[]) {
  const plan = { batches: [{ channel: 'fcm' as const, certificateId, recipients, tried: [] }] }
  const { taskId, released } = await acceptPlan(db, app, plan)
  return { taskId, id: released[0]!.id, recipients }
}

/** Settles a batch in which the vendor called the first `gone` tokens dead. */
function settle(
  { taskId, id, recipients }: Awaited<ReturnType<typeof release>>,
  version: number,
  gone: number,
) {
  const sent = recipients.length - gone
  return settleBatches(db, [
    settlementOf(
      { taskId, id, version },
      {
        status: 'f'.repeat(gone) + 's'.repeat(sent),
        sent,
        failed: gone,
        retire: recipients
          .slice(0, gone)
          .map((deviceId) => ({ deviceId, token: `t${deviceId}`, since: Date.now() + 60_000 })),
        answered: recipients.length,
        gone,
      },
    ),
  ])
}

async function sendTo(recipients: number[], gone: number) {
  const batch = await release(recipients)
  const [claimed] = await claimBatches(
    db.pool,
    { channel: 'fcm', certificateIds: [certificateId], batches: [batch] },
    { seconds: 30, worker: 'w' },
  )
  return settle(batch, claimed!.version, gone)
}

describe('a token that a vendor calls dead', () => {
  it('is retired unless the device has another token by now', async () => {
    const ids = await addDevices(3)
    await bindToken(ids[0]!, 'another')
    expect(await sendTo(ids, 2)).toMatchObject({ suspect: new Set() })
    expect(await tokens()).toEqual(['another', `t${ids[2]}`])
  })

  it('is not retired by a worker that lost its lease', async () => {
    const ids = await addDevices(1)
    const { settled } = await settle(await release(ids), -1, 1)
    expect(settled.size).toBe(0)
    expect(await tokens()).toEqual([`t${ids[0]}`])
  })
})

describe('the guard against mass retirement', () => {
  it.each([
    [19, 19, false],
    [20, 10, false],
    [20, 11, true],
  ])('of %i tokens %i dead: suspect is %s', async (answered, gone, suspect) => {
    const ids = await addDevices(answered)
    expect((await sendTo(ids, gone)).suspect.size === 1).toBe(suspect)
    expect(await tokens()).toHaveLength(suspect ? answered : answered - gone)
  })

  it.each([
    ['9 minutes', true],
    ['11 minutes', false],
  ])('counts answers of %s ago: suspect is %s', async (age, suspect) => {
    await db.pool.query(
      `INSERT INTO token_window (certificate_id, minute, answered, gone)
       VALUES ($1, now() - $2::interval, 15, 15)`,
      [certificateId, age],
    )
    expect((await sendTo(await addDevices(5), 5)).suspect.size === 1).toBe(suspect)
  })

  it('retires nothing when receipts call most tokens dead', async () => {
    const ids = await addDevices(20)
    const reported = ids.map((id) => ({ token: `t${id}`, since: Date.now() + 60_000 }))
    const certificate = { id: certificateId, appId: app, channel: 'fcm' as const }
    expect(await retireReported(db, certificate, reported.slice(0, 1))).toBe(1)
    expect(await retireReported(db, certificate, reported.slice(1))).toBe(0)
    expect(await tokens()).toHaveLength(20)
  })

  describe('of receipts', () => {
    const state = async () =>
      (await db.pool.query('SELECT state FROM certificate WHERE id = $1', [certificateId])).rows[0].state
    const answered = (count: number, age: string) =>
      db.pool.query(
        `INSERT INTO token_window (certificate_id, minute, answered, gone)
         VALUES ($1, date_trunc('minute', now() - $2::interval), $3, 0)`,
        [certificateId, age, count],
      )
    const certificate = () => ({ id: certificateId, appId: app, channel: 'fcm' as const })

    it('counts a token once, however often it is reported', async () => {
      await answered(100, '0 minutes')
      const reported = (await addDevices(30)).map((id) => ({ token: `t${id}`, since: Date.now() + 60_000 }))
      for (const retired of [30, 0, 0])
        expect(await retireReported(db, certificate(), reported)).toBe(retired)
      expect(await state()).toBe('open')
      expect(await tokens()).toEqual([])
    })

    it.each([
      [100, 'open', 0],
      [39, 'suspect', 20],
    ])('of a task two hours ago are compared with its %i answers: %s', async (count, verdict, left) => {
      await answered(count, '119 minutes')
      const ids = await addDevices(20)
      await db.pool.query(`UPDATE binding SET registered_at = now() - interval '1 day' WHERE app_id = $1`, [
        app,
      ])
      const since = Date.now() - 2 * 3_600_000
      await retireReported(
        db,
        certificate(),
        ids.map((id) => ({ token: `t${id}`, since })),
      )
      expect(await state()).toBe(verdict)
      expect(await tokens()).toHaveLength(left)
    })
  })

  it('restores only tokens that were retired as dead in the window', async () => {
    const ids = await addDevices(3)
    await sendTo(ids, 3)
    expect(await tokens()).toEqual([])
    const change = (id: number, to: string) =>
      db.pool.query(`UPDATE retired_token SET ${to} WHERE app_id = $1 AND device_id = $2`, [app, id])
    await change(ids[0]!, `retired_at = now() - interval '11 minutes'`)
    await change(ids[1]!, `reason = 'unbound'`)
    expect(await markSuspect(db, certificateId)).toBe(1)
    expect(await tokens()).toEqual([`t${ids[2]}`])
  })

  /** Whether a statement waits for another transaction. */
  const isWaiting = async () => {
    const sql = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    return (await db.pool.query(sql)).rowCount === 1
  }

  it('does not deadlock with a bind of a token that it restores', async () => {
    const ids = await addDevices(1)
    await sendTo(ids, 1)
    expect(await tokens()).toEqual([])
    const values = [ids[0], app, `t${ids[0]}`]
    const binding = await db.pool.connect()
    try {
      // The steps of `bind`.
      await binding.query('BEGIN')
      await binding.query('UPDATE device SET last_seen = now() WHERE id = $1', [ids[0]])
      await binding.query(
        `INSERT INTO binding (device_id, channel, app_id, token) VALUES ($1, 'fcm', $2, $3)`,
        values,
      )
      const marked = markSuspect(db, certificateId)
      marked.catch(() => {})
      await until(isWaiting, { what: 'the lock' })
      await binding.query(
        `DELETE FROM retired_token WHERE device_id = $1 AND app_id = $2 AND channel = 'fcm' AND token = $3`,
        values,
      )
      await binding.query('COMMIT')
      expect(await marked).toBe(0)
    } finally {
      await binding.query('ROLLBACK')
      binding.release()
    }
    expect(await tokens()).toEqual([`t${ids[0]}`])
    expect((await db.pool.query('SELECT 1 FROM retired_token WHERE app_id = $1', [app])).rowCount).toBe(0)
  })

  it('restores no token of a device that is being removed', async () => {
    const ids = await addDevices(2)
    await sendTo(ids, 2)
    const removing = await db.pool.connect()
    try {
      await removing.query('BEGIN')
      await removing.query('DELETE FROM device WHERE id = $1', [ids[0]])
      const marked = markSuspect(db, certificateId)
      marked.catch(() => {})
      await until(isWaiting, { what: 'the lock' })
      await removing.query('COMMIT')
      expect(await marked).toBe(1)
    } finally {
      await removing.query('ROLLBACK')
      removing.release()
    }
    expect(await tokens()).toEqual([`t${ids[1]}`])
  })

  it('marks the certificate also if the first attempt meets a deadlock', async () => {
    /** A database whose first statement that marks a certificate fails. */
    const failingOnce = (): Database => {
      let hasFailed = false
      const pool = new Proxy(db.pool, {
        get(target, key) {
          const value = Reflect.get(target, key)
          if (key !== 'query') return typeof value === 'function' ? value.bind(target) : value
          return (statement: { name?: string }, ...rest: unknown[]) => {
            if (hasFailed || statement.name !== 'mark-suspect') return value.call(target, statement, ...rest)
            hasFailed = true
            return Promise.reject(Object.assign(new Error('deadlock detected'), { code: '40P01' }))
          }
        },
      })
      return { ...db, pool }
    }
    const state = async () =>
      (await db.pool.query('SELECT state FROM certificate WHERE id = $1', [certificateId])).rows[0].state
    const reported = (await addDevices(20)).map((id) => ({ token: `t${id}`, since: Date.now() + 60_000 }))
    const certificate = { id: certificateId, appId: app, channel: 'fcm' as const }
    expect(await retireReported(failingOnce(), certificate, reported)).toBe(0)
    expect(await state()).toBe('suspect')
    await db.pool.query(`UPDATE certificate SET state = 'open' WHERE id = $1`, [certificateId])
    expect(await updateSuspects(failingOnce())).toContain(certificateId)
    expect(await state()).toBe('suspect')
  })
})
