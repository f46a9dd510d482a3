import { describe, expect, it, jest } from '@jest/globals'
import { ensurePartitions, leadOf } from '../src/store/index.ts'
import { firstTaskIdAt, partitionDays } from '../src/store/partitions.ts'
import { applyRetention } from '../src/tasks/index.ts'
import { useDatabase } from './setup.ts'

const DAY = 86_400_000

describe('partitions and retention', () => {
  const db = useDatabase({ max: 8, partitions: false })

  const addTask = async (at: number, finished: number | null) => {
    const id = firstTaskIdAt(at) + 1
    await db.pool.query(
      `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, finished_at)
       VALUES ($1, 'a', $2, '{}', 'combined', '{}', '{}', 'high', 0, to_timestamp($3))`,
      [id, finished === null ? 'sending' : 'finished', finished === null ? null : finished / 1000],
    )
    await db.pool.query(`INSERT INTO counter (task_id, channel) VALUES ($1, 'fcm')`, [id])
    return id
  }

  it('creates partitions once when called concurrently', async () => {
    await Promise.all(Array.from({ length: 5 }, () => ensurePartitions(db)))
    const days = await partitionDays(db)
    expect(days).toHaveLength(9)
    const { rows } = await db.pool.query(`SELECT next_task_id() AS id`)
    expect(days.some(({ from, to }) => rows[0].id >= from && rows[0].id < to)).toBe(true)
  })

  it('drops days whose tasks all ended long ago, and keeps a day with an open or late task', async () => {
    const now = Date.now()
    const old = now - 60 * DAY
    for (const at of [old, old + 2 * DAY, old + 4 * DAY]) await ensurePartitions(db, at)
    const done = await addTask(old + 3_600_000, old + 2 * 3_600_000)
    const open = await addTask(old + DAY + 3_600_000, null)
    const late = await addTask(old + 2 * DAY + 3_600_000, now - DAY)
    const report = await applyRetention(db, 30, now)
    expect(report.droppedDays).toBeGreaterThan(0)
    const { rows } = await db.pool.query(`SELECT id FROM task ORDER BY id`)
    expect(rows.map((row) => row.id)).toEqual([open, late])
    expect((await db.pool.query(`SELECT 1 FROM counter WHERE task_id = $1`, [done])).rowCount).toBe(0)
    const days = await partitionDays(db)
    for (const id of [open, late]) expect(days.some(({ from, to }) => id >= from && id < to)).toBe(true)
    expect(days.some(({ from, to }) => done >= from && done < to)).toBe(false)
  })

  it('compares times by the clock of Postgres, not by its own', async () => {
    const now = Date.now()
    await ensurePartitions(db, now - 20 * DAY)
    const kept = await addTask(now - 20 * DAY, now - 20 * DAY)
    const before = await partitionDays(db)
    const ahead = jest.spyOn(Date, 'now').mockImplementation(() => now + 31 * DAY)
    try {
      await applyRetention(db, 30)
    } finally {
      ahead.mockRestore()
    }
    expect(await partitionDays(db)).toEqual(before)
    expect((await db.pool.query('SELECT 1 FROM task WHERE id = $1', [kept])).rowCount).toBe(1)
    await db.pool.query('DELETE FROM task WHERE id = $1', [kept])
  })

  it('does nothing while another process has the lead', async () => {
    const lead = leadOf(db, 'retention')
    expect(await lead.take(60)).toBe(true)
    await db.pool.query(`INSERT INTO login_failure VALUES ('a', 'b', 1, now() - interval '3 days')`)
    expect(await applyRetention(db, 30)).toEqual({ droppedDays: 0, rows: 0 })
    await lead.release()
    expect((await applyRetention(db, 30)).rows).toBe(1)
  })

  it('continues with a day that it could not finish', async () => {
    const now = Date.now()
    const at = now - 50 * DAY
    await ensurePartitions(db, at)
    const id = await addTask(at, at)
    await db.pool.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$;
       CREATE TRIGGER refuse BEFORE DELETE ON task EXECUTE FUNCTION refuse()`,
    )
    await expect(applyRetention(db, 30, now)).rejects.toThrow('not now')
    await db.pool.query('DROP TRIGGER refuse ON task')
    await applyRetention(db, 30, now)
    expect((await db.pool.query('SELECT 1 FROM task WHERE id = $1', [id])).rowCount).toBe(0)
  })
})
