import { until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { describe, expect, it, jest } from '@jest/globals'
import { ensurePartitions, leadOf } from '../src/store/index.ts'
import { firstTaskIdAt, partitionDays } from '../src/store/partitions.ts'
import { applyRetention, findByRequestId } from '../src/tasks/index.ts'
import { useDatabase } from './setup.ts'

const DAY = 86_400_000

describe('partitions', () => {
  const db = useDatabase({ max: 8, partitions: false })

  it('are created once when several processes want the same days', async () => {
    const before = await partitionDays(db)
    // Days that the database does not have yet.
    const at = Date.UTC(2040, 0, 1)
    await Promise.all(Array.from({ length: 5 }, () => ensurePartitions(db, at)))
    const days = await partitionDays(db)
    expect(days).toHaveLength(before.length + 9)
    expect(new Set(days.map(({ day }) => day)).size).toBe(days.length)
  })

  it('contain the next task', async () => {
    await ensurePartitions(db)
    const { rows } = await db.pool.query(`SELECT next_task_id() AS id`)
    const days = await partitionDays(db)
    expect(days.some(({ from, to }) => rows[0].id >= from && rows[0].id < to)).toBe(true)
  })
})

describe('retention', () => {
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

  it('keeps a task while its messages wait in inboxes, and counts from their end', async () => {
    const now = Date.now()
    const at = now - 80 * DAY
    await ensurePartitions(db, at)
    const id = await addTask(at, at)
    const isKept = async () => {
      await applyRetention(db, 30, now)
      return (await db.pool.query('SELECT 1 FROM task WHERE id = $1', [id])).rowCount === 1
    }
    await db.pool.query(`UPDATE task SET state = 'sending' WHERE id = $1`, [id])
    expect(await isKept()).toBe(true)
    const end = (ago: number) =>
      db.pool.query(`UPDATE task SET state = 'finished', ended_at = to_timestamp($2) WHERE id = $1`, [
        id,
        (now - ago) / 1000,
      ])
    await end(29 * DAY)
    expect(await isKept()).toBe(true)
    await end(31 * DAY)
    expect(await isKept()).toBe(false)
  })

  it('drops a day of bundled tasks, which have no end of their own, when its bundles were settled long ago', async () => {
    const now = Date.now()
    const at = now - 70 * DAY
    await ensurePartitions(db, at)
    const id = await addTask(at, at)
    await db.pool.query(`UPDATE task SET state = 'bundled', bundle = id, finished_at = NULL WHERE id = $1`, [
      id,
    ])
    const settle = (state: string, ago: number) =>
      db.pool.query(
        `INSERT INTO bundle (task_id, channel, lane, state, size, tasks, recipients, certificates, status, deadline, settled_at)
         VALUES ($1, 'fcm', 'high', $2, 1, ARRAY[$1::bigint], '{1}', '{1}', 's', now(), to_timestamp($3))
         ON CONFLICT (task_id) DO UPDATE SET state = excluded.state, settled_at = excluded.settled_at`,
        [id, state, (now - ago) / 1000],
      )
    const isKept = async () => {
      await applyRetention(db, 30, now)
      return (await db.pool.query('SELECT 1 FROM task WHERE id = $1', [id])).rowCount === 1
    }
    await settle('sending', 70 * DAY)
    expect(await isKept()).toBe(true)
    await settle('settled', DAY)
    expect(await isKept()).toBe(true)
    await settle('settled', 70 * DAY)
    expect(await isKept()).toBe(false)
    expect((await db.pool.query('SELECT 1 FROM bundle WHERE task_id = $1', [id])).rowCount).toBe(0)
  })

  it('drops the events of such a day, and counts those that no courier took out of the outbox', async () => {
    const now = Date.now()
    const at = now - 80 * DAY
    await ensurePartitions(db, at)
    const kept = firstTaskIdAt(now - DAY)
    for (const id of [firstTaskIdAt(at) + 1, kept])
      await db.pool.query(
        `INSERT INTO event (id, app_id, kind, at) VALUES (${id}, 'a', 'task.finished', now())`,
      )
    for (const ms of [at, now - 31 * DAY, now - 29 * DAY])
      await db.pool.query(
        `INSERT INTO outbox (app_id, kind, at) VALUES ('a', 'task.finished', to_timestamp(${ms / 1000}))`,
      )
    expect(await applyRetention(db, 30, now)).toMatchObject({ lostEvents: 2 })
    expect((await db.pool.query('SELECT id FROM event')).rows).toEqual([{ id: kept }])
    expect((await db.pool.query('SELECT 1 FROM outbox')).rowCount).toBe(1)
    expect(await applyRetention(db, 30, now)).toMatchObject({ lostEvents: 0 })
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
    expect(await applyRetention(db, 30)).toEqual({ droppedDays: 0, rows: 0, lostEvents: 0 })
    await lead.release()
    expect((await applyRetention(db, 30)).rows).toBe(1)
  })

  it('keeps the sums of statistics for 400 days', async () => {
    await db.pool.query(
      `INSERT INTO stat_sum SELECT 'sums', now() - make_interval(days => n), 'fcm', '', 0, 1, 1, 0, 0, 0, 0, 0 FROM unnest(ARRAY[399, 403]) n`,
    )
    await applyRetention(db, 30)
    const { rows } = await db.pool.query(
      `SELECT round(extract(epoch FROM now() - at) / 86400)::int AS days FROM stat_sum WHERE app_id = 'sums'`,
    )
    expect(rows).toEqual([{ days: 399 }])
  })

  it.each([
    [
      'the audit for a year, or as long as tasks if that is longer',
      'audit',
      'at',
      `(at, app_id, actor, action) SELECT at, 'aged', 'admin', 'spec'`,
      { longer: [29, 31, 364, 366], shorter: [29, 31, 364] },
    ],
    [
      'retired tokens for 30 days, however long tasks are kept',
      'retired_token',
      'retired_at',
      `(retired_at, app_id, channel, token, device_id, environment, registered_at, reason)
       SELECT at, 'aged', 'fcm', at::text, 1, 1, at, 'gone'`,
      { longer: [29], shorter: [29] },
    ],
  ])('keeps %s', async (_, table, column, insert, kept) => {
    await db.pool.query(
      `INSERT INTO ${table} ${insert} FROM unnest(ARRAY[29, 31, 364, 366]) AS days (n),
         LATERAL (SELECT now() - make_interval(hours => 24 * n)) AS age (at)`,
    )
    const ages = async () => {
      const { rows } = await db.pool.query<{ days: number }>(
        `SELECT round(extract(epoch FROM now() - ${column}) / 86400)::int AS days FROM ${table} WHERE app_id = 'aged' ORDER BY 1`,
      )
      return rows.map(({ days }) => days)
    }
    await applyRetention(db, 400)
    expect(await ages()).toEqual(kept.longer)
    await applyRetention(db, 1)
    expect(await ages()).toEqual(kept.shorter)
  })

  it('drops a day of tasks without deleting a row', async () => {
    const now = Date.now()
    const at = now - 50 * DAY
    await ensurePartitions(db, at)
    const id = await addTask(at, at)
    await db.pool.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$`,
    )
    for (const table of ['task', 'counter', 'failure', 'batch', 'receipt', 'inbox'])
      await db.pool.query(`CREATE TRIGGER refuse BEFORE DELETE ON ${table} EXECUTE FUNCTION refuse()`)
    await applyRetention(db, 30, now)
    for (const table of ['task', 'counter', 'failure', 'batch', 'receipt', 'inbox'])
      await db.pool.query(`DROP TRIGGER refuse ON ${table}`)
    expect((await db.pool.query('SELECT 1 FROM task WHERE id = $1', [id])).rowCount).toBe(0)
    expect((await db.pool.query('SELECT 1 FROM counter WHERE task_id = $1', [id])).rowCount).toBe(0)
  })

  it('keeps tasks for one day if asked to', async () => {
    const now = Date.now()
    for (const ago of [3, 1]) await ensurePartitions(db, now - ago * DAY)
    const old = await addTask(now - 3 * DAY, now - 3 * DAY)
    const young = await addTask(now - 0.5 * DAY, now)
    await applyRetention(db, 1, now)
    const { rows } = await db.pool.query('SELECT id FROM task WHERE id = ANY($1)', [[old, young]])
    expect(rows).toEqual([{ id: young }])
    await db.pool.query('DELETE FROM task')
  })

  it('drops what a reader does not hold, blocks no insert, and finishes the rest later', async () => {
    const now = Date.now()
    const at = now - 40 * DAY
    await ensurePartitions(db, at)
    const id = await addTask(at, at)
    const today = (await db.pool.query('SELECT next_task_id() AS id')).rows[0].id
    await db.pool.query(`INSERT INTO login_failure VALUES ('x', 'y', 1, now() - interval '3 days')`)
    const reader = await db.pool.connect()
    await reader.query('BEGIN')
    await reader.query('SELECT 1 FROM task')
    const retention = applyRetention(db, 30, now).then(
      () => undefined,
      (error) => error,
    )
    // Until the partition of the reader is half detached: its parent must be usable now, without waiting for the reader.
    await until(
      async () => (await db.pool.query(`SELECT 1 FROM pg_inherits WHERE inhdetachpending`)).rowCount !== 0,
    )
    const client = await db.pool.connect()
    await client.query(`SET lock_timeout = '100ms'`)
    await client.query(
      `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl)
       VALUES ($1, 'a', 'sending', '{}', 'combined', '{}', '{}', 'high', 0)`,
      [today],
    )
    await client.query(`UPDATE task SET state = 'finished', finished_at = now() WHERE id = $1`, [today])
    await client.query('RESET lock_timeout')
    client.release()
    expect(await retention).toMatchObject({ code: '55P03' })
    expect((await db.pool.query(`SELECT 1 FROM login_failure WHERE app_id = 'x'`)).rowCount).toBe(0)
    const left = async () =>
      (
        await db.pool.query(`SELECT relname FROM pg_class WHERE relname ~ $1 AND relkind = 'r'`, [
          `^(task|counter|failure|inbox|receipt|batch)_${new Date(at).toISOString().slice(0, 10).replaceAll('-', '')}$`,
        ])
      ).rows.map(({ relname }) => relname.split('_')[0])
    expect(await left()).toEqual(['task'])
    await reader.query('COMMIT')
    reader.release()
    await applyRetention(db, 30, now)
    expect(await left()).toEqual([])
    expect((await db.pool.query('SELECT 1 FROM task WHERE id = $1', [id])).rowCount).toBe(0)
    await db.pool.query('DELETE FROM task')
  })
})

describe('request ids', () => {
  const db = useDatabase({ max: 8 })
  const accept = (requestId: string) => acceptPlan(db, 'app', {}, { requestId })
  const periods = async () =>
    (await db.pool.query('SELECT period FROM request_period ORDER BY 1')).rows.map(({ period }) => period)

  it('are unique while one period ends and the next begins', async () => {
    // The older period ended a minute ago: some calls know only it, some both.
    await db.pool.query(`UPDATE request_period SET to_at = now() + interval '1 hour'`)
    await ensurePartitions(db)
    expect(await periods()).toEqual([1, 2])
    const early = await accept('before')
    await db.pool.query(`UPDATE request_period SET to_at = now() - interval '1 minute' WHERE period = 1`)
    const client = await db.pool.connect()
    await client.query('BEGIN')
    await client.query(`INSERT INTO request VALUES (1, 'app', 'both', 77)`)
    await db.pool.query(`UPDATE request_period SET from_at = now() - interval '1 minute' WHERE period = 2`)
    const copies = Promise.all(Array.from({ length: 5 }, () => accept('both')))
    await until(
      async () =>
        (
          await db.pool.query(
            `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
          )
        ).rowCount !== 0,
    )
    await client.query('COMMIT')
    client.release()
    for (const copy of await copies) expect(copy).toMatchObject({ taskId: 77, fresh: false })
    const made = await Promise.all(Array.from({ length: 5 }, () => accept('overlap')))
    expect(made.filter(({ fresh }) => fresh)).toHaveLength(1)
    expect(new Set(made.map(({ taskId }) => taskId)).size).toBe(1)
    // When the overlap is over, all of them are found in either period.
    await db.pool.query(`UPDATE request_period SET to_at = now() - interval '1 hour' WHERE period = 1`)
    expect(await accept('before')).toMatchObject({ taskId: early.taskId, fresh: false })
    expect(await accept('overlap')).toMatchObject({ taskId: made[0]!.taskId, fresh: false })
    const { rows } = await db.pool.query(`SELECT count(*)::int AS n FROM task WHERE request_id = 'overlap'`)
    expect(rows).toEqual([{ n: 1 }])
  })

  it('are found after the clock was set back to before the period in which they were used', async () => {
    /** The second period begins in as many hours. */
    const secondBeginsIn = async (hours: number) => {
      const at = `now() + interval '${hours} hours'`
      await db.pool.query(`UPDATE request_period SET to_at = ${at} WHERE period = 1`)
      await db.pool.query(`UPDATE request_period SET from_at = ${at} WHERE period = 2`)
    }
    await secondBeginsIn(1)
    await ensurePartitions(db)
    await secondBeginsIn(-1)
    const { taskId } = await accept('ahead')
    await secondBeginsIn(1)
    expect(await accept('ahead')).toMatchObject({ taskId, fresh: false })
    expect(await findByRequestId(db, 'app', 'ahead')).toBe(taskId)
    const behind = await accept('behind')
    const { rows } = await db.pool.query(
      `SELECT request_id, period FROM request WHERE request_id IN ('ahead', 'behind') ORDER BY 1`,
    )
    expect(rows).toEqual([
      { request_id: 'ahead', period: 2 },
      { request_id: 'behind', period: 1 },
    ])
    await secondBeginsIn(-1)
    expect(await accept('behind')).toMatchObject({ taskId: behind.taskId, fresh: false })
  })

  it('are kept for 30 days although tasks are kept for one, and as long as an older task exists', async () => {
    const { taskId } = await accept('kept')
    const forgotten = async () => (await findByRequestId(db, 'app', 'kept')) === undefined
    await applyRetention(db, 1, Date.now() + 20 * DAY)
    expect(await forgotten()).toBe(false)
    await db.pool.query(`UPDATE request_period SET to_at = now() WHERE period = 2`)
    await applyRetention(db, 1, Date.now() + 31 * DAY)
    expect(await forgotten()).toBe(false)
    await db.pool.query(`UPDATE task SET state = 'finished', finished_at = now()`)
    await applyRetention(db, 1, Date.now() + 31 * DAY)
    expect(await forgotten()).toBe(true)
    expect((await db.pool.query('SELECT 1 FROM task WHERE id = $1', [taskId])).rowCount).toBe(0)
    expect((await db.pool.query(`SELECT to_regclass('request_2') AS gone`)).rows).toEqual([{ gone: null }])
  })
})
