import { describe, expect, it } from '@jest/globals'
import { type Days, dayOfId } from '../src/store/days.ts'
import { type Database, ensurePartitions, openDatabase } from '../src/store/index.ts'
import { batchDays, noteBatchesOf, openDays } from '../src/store/open-days.ts'
import { firstTaskIdAt, IDS_PER_DAY } from '../src/store/partitions.ts'
import { useDatabase } from './setup.ts'

const DAY = 86_400_000
/** Days before today that have partitions. */
const DAYS = 36
/** Of today. Midnight, and the hours before and after it, would change the present days while a spec runs. */
const NOON = new Date().setUTCHours(12, 0, 0, 0)

/** As a process that has just started. For it the clock of Postgres shows noon. */
function openAtNoon(url: string): Database {
  const fresh = openDatabase(url, { max: 1, waitMs: 60_000 })
  const query = fresh.pool.query.bind(fresh.pool) as (config: object) => Promise<{ rows: unknown[][] }>
  fresh.pool.query = (async (config: { name?: string }) => {
    const result = await query(config)
    if (config.name === 'partition-extent') result.rows[0]![0] = NOON
    return result
  }) as never
  return fresh
}

async function addTask(db: Database, id: number, state: string): Promise<number> {
  await db.pool.query(
    `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, finished_at)
     VALUES ($1, 'a', $2, '{"kind":"all"}', 'combined', '{}', '{}', 'normal', 100, CASE WHEN $2 = 'finished' THEN now() END)`,
    [id, state],
  )
  return id
}

const addBatch = (db: Database, taskId: number, state: string) =>
  db.pool.query(
    `INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline)
     VALUES ($1, 'a', 'fcm', 1, 'normal', $2, 1, '{1}', '.', now())`,
    [taskId, state],
  )

/** The days in a condition. */
function daysIn(days: Days): number[] {
  const found = new Set<number>()
  for (const [, low, high] of days.of('id').matchAll(/id >= (-?\d+) AND id < (\d+)/g))
    for (let day = dayOfId(Number(low)); day * IDS_PER_DAY < Number(high); day++) found.add(day)
  return [...found]
}

/** The days of the searches for tasks and for batches. */
async function daysOfSearches(db: Database): Promise<{ tasks: number[]; batches: number[] }> {
  return { tasks: daysIn(await openDays(db)), batches: daysIn(await batchDays(db)) }
}

/** As the first process of an installation. */
async function firstLook(db: Database): Promise<{ tasks: number[]; batches: number[] }> {
  await db.pool.query('DELETE FROM open_days')
  return look(db)
}

/** As a process that has just started. */
async function look(db: Database): Promise<{ tasks: number[]; batches: number[] }> {
  const fresh = openAtNoon(db.url)
  try {
    return await daysOfSearches(fresh)
  } finally {
    await fresh.close()
  }
}

/** The days that each statement asks from now on. */
function watchAsked(db: Database): number[][] {
  const asked: number[][] = []
  db.pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => never
    client.query = ((...args: [string | { text: string }]) => {
      const text = typeof args[0] === 'string' ? args[0] : args[0].text
      const condition = /^SELECT EXISTS \(SELECT 1 FROM \w+ WHERE (\(.*?\)) AND state/.exec(text)?.[1]
      if (condition) asked.push(daysIn({ name: '', of: () => condition.replaceAll('task_id', 'id') }))
      return query(...args)
    }) as never
  })
  return asked
}

describe('the days of searches', () => {
  const db = useDatabase()
  const soon = () => dayOfId(firstTaskIdAt(NOON + 3_600_000))
  const young = () => dayOfId(firstTaskIdAt(NOON - 3_600_000))
  const idAgo = (days: number) => firstTaskIdAt(NOON - days * DAY)
  const dayAgo = (days: number) => dayOfId(idAgo(days))
  const present = () => [...new Set([young(), soon()])]
  let fresh: Database
  const addDays = async () => {
    for (let ago = 9; ago <= DAYS; ago += 9) await ensurePartitions(db, NOON - ago * DAY)
  }
  const addInbox = (id: number) =>
    db.pool.query(
      `INSERT INTO inbox (task_id, device_id, app_id, expires_at) VALUES ($1, 1, 'a', now() + interval '1 day')`,
      [id],
    )
  const addBundle = (id: number, state: string) =>
    db.pool.query(
      `INSERT INTO bundle (task_id, channel, lane, state, size, tasks, recipients, certificates, status, deadline)
       VALUES ($1, 'fcm', 'high', $2, 1, ARRAY[$1::bigint], '{1}', '{1}', '.', now())`,
      [id, state],
    )

  /** These days and the present ones. */
  const withDays = (...ago: number[]) => [...new Set([...ago.map(dayAgo), ...present()])]

  it('end with the present one, and include a task that was added before the clock was set back', async () => {
    expect(await firstLook(db)).toEqual({ tasks: present(), batches: present() })
    const last = soon() + 3
    await addTask(db, last * IDS_PER_DAY + 5, 'sending')
    const { tasks, batches } = await firstLook(db)
    expect([tasks[0], tasks.at(-1), batches[0], batches.at(-1)]).toEqual([young(), last, young(), last])
    await db.pool.query('TRUNCATE task')
  })

  it('are those with a task that has not ended, a message or a batch', async () => {
    await addDays()
    await addBatch(db, await addTask(db, idAgo(30), 'finished'), 'settled')
    await addBundle(idAgo(30), 'settled')
    expect(await firstLook(db)).toEqual({ tasks: present(), batches: present() })
    await addTask(db, idAgo(5), 'accepted')
    expect(await firstLook(db)).toEqual({ tasks: withDays(5), batches: present() })
    await addTask(db, idAgo(7), 'sending')
    expect(await firstLook(db)).toEqual({ tasks: withDays(7, 5), batches: present() })
    await addInbox(idAgo(20))
    expect(await firstLook(db)).toEqual({ tasks: withDays(20, 7, 5), batches: present() })
    await addBatch(db, idAgo(6), 'held')
    expect(await firstLook(db)).toEqual({ tasks: withDays(20, 7, 6, 5), batches: withDays(6, 5) })
    await addBundle(idAgo(11), 'released')
    expect(await firstLook(db)).toEqual({ tasks: withDays(20, 11, 7, 6, 5), batches: withDays(11, 7, 6, 5) })
    await db.pool.query('INSERT INTO slice (task_id, no, hi, cursor, width) VALUES ($1, 1, 9, 1, 100)', [
      idAgo(13),
    ])
    const all = withDays(20, 13, 11, 7, 6, 5)
    expect(await firstLook(db)).toEqual({ tasks: all, batches: all.slice(1) })
    // With the tasks of the last hours, and of one more.
    const first = dayAgo(20 + 1 / 24)
    fresh = openAtNoon(db.url)
    expect(daysIn(await openDays(fresh, 20 * 24))).toEqual(
      Array.from({ length: soon() - first + 1 }, (_, n) => first + n),
    )
    await fresh.close()
    await db.pool.query('TRUNCATE task, batch, bundle, inbox, slice')
  })

  it('are at most eight runs: the nearest are joined', async () => {
    await addDays()
    await db.pool.query('DELETE FROM open_days')
    for (let ago = 3; ago <= 30; ago += 3) await addTask(db, idAgo(ago), 'accepted')
    await addTask(db, idAgo(35), 'accepted')
    fresh = openAtNoon(db.url)
    const days = await openDays(fresh)
    await fresh.close()
    expect(days.of('id').split(' OR ')).toHaveLength(8)
    const found = daysIn(days)
    for (let ago = 3; ago <= 30; ago += 3) expect(found).toContain(dayAgo(ago))
    expect(found).toEqual(expect.arrayContaining(withDays(35)))
    expect(found).not.toContain(dayAgo(33))
    await db.pool.query('TRUNCATE task')
  })

  it('are asked some at a time, and those without open work never again', async () => {
    await addDays()
    await db.pool.query('DELETE FROM open_days')
    const scheduled = await addTask(db, idAgo(25), 'accepted')
    const ending = await addTask(db, idAgo(14), 'sending')
    await addBatch(db, idAgo(3), 'held')
    fresh = openAtNoon(db.url)
    const asked = watchAsked(fresh)
    try {
      expect(await daysOfSearches(fresh)).toEqual({ tasks: withDays(25, 14, 3), batches: withDays(3) })
      expect(new Set(asked.flat()).size).toBeGreaterThan(DAYS - 2)
      for (const days of asked) expect(days.length).toBeLessThanOrEqual(16)
      asked.length = 0
      // One task begins on its old day, and another ends.
      await addBatch(db, scheduled, 'ready')
      await db.pool.query(`UPDATE task SET state = 'finished' WHERE id = $1`, [ending])
      await noteBatchesOf(fresh, [scheduled])
      // The other days of open work are asked in turn.
      expect((await daysOfSearches(fresh)).batches[0]).toBe(dayAgo(25))
      await noteBatchesOf(fresh, [0])
      expect(await daysOfSearches(fresh)).toEqual({ tasks: withDays(25, 3), batches: withDays(25, 3) })
      for (const day of asked.flat()) expect([25, 14, 3].map(dayAgo)).toContain(day)
    } finally {
      await fresh.close()
    }
    await db.pool.query('TRUNCATE task, batch')
  })

  it('are read by a first look whose connection is closed, because Postgres keeps what it has read about each table', async () => {
    await addDays()
    await db.pool.query('DELETE FROM open_days')
    fresh = openAtNoon(db.url)
    try {
      await openDays(fresh)
      expect(fresh.pool.totalCount).toBe(0)
      await noteBatchesOf(fresh, [0])
      await openDays(fresh)
      expect(fresh.pool.totalCount).toBe(1)
    } finally {
      await fresh.close()
    }
  })

  it('are taken from the last look at all days, by whichever process, for half a day at least', async () => {
    await addDays()
    await addTask(db, idAgo(25), 'accepted')
    await addBatch(db, await addTask(db, idAgo(3), 'sending'), 'held')
    const found = { tasks: withDays(25, 3), batches: withDays(3) }
    const lookAgain = async () => {
      fresh = openAtNoon(db.url)
      const asked = watchAsked(fresh)
      try {
        expect(await daysOfSearches(fresh)).toEqual(found)
        return new Set(asked.flat()).size
      } finally {
        await fresh.close()
      }
    }
    expect(await firstLook(db)).toEqual(found)
    // The oldest, one other, and which is the first with a batch.
    expect(await lookAgain()).toBe(2)
    // The days since then are asked.
    await db.pool.query(
      `UPDATE open_days SET upto = $1, days = '{}', found_at = now() - interval '11 hours'`,
      [dayAgo(25)],
    )
    expect(await lookAgain()).toBeGreaterThanOrEqual(young() - dayAgo(25))
    // What is older is not used, nor what was found before the clock was set back.
    for (const [when, upto] of [
      [`now() - interval '1 day'`, young()],
      [`now() + interval '1 minute'`, young()],
      ['now()', young() + 1],
    ] as const) {
      await db.pool.query(`UPDATE open_days SET upto = $1, days = '{}', found_at = ${when}`, [upto])
      expect(await lookAgain()).toBeGreaterThan(DAYS - 2)
      const { rows } = await db.pool.query('SELECT upto, days, found_at <= now() AS past FROM open_days')
      expect(rows).toEqual([{ upto: young(), days: [25, 3].map(dayAgo), past: true }])
    }
    await db.pool.query('TRUNCATE task, batch')
  })

  it('are taken from the row of the server, and not from memory, after a failover', async () => {
    await addDays()
    fresh = openAtNoon(db.url)
    let timeline = '00000001'
    const query = fresh.pool.query.bind(fresh.pool) as (config: object) => Promise<{ rows: string[][] }>
    fresh.pool.query = (async (config: { name?: string }) => {
      const result = await query(config)
      if (config.name === 'found-days') result.rows[0]![0] = timeline
      return result
    }) as never
    try {
      await db.pool.query('DELETE FROM open_days')
      expect((await daysOfSearches(fresh)).tasks).toEqual(present())
      // The server that takes over has a task that had ended on the other one, and what was found before that.
      await addTask(db, idAgo(25), 'accepted')
      await db.pool.query('UPDATE open_days SET days = $1', [[dayAgo(25)]])
      await noteBatchesOf(fresh, [0])
      expect((await daysOfSearches(fresh)).tasks).toEqual(present())
      timeline = '00000002'
      await noteBatchesOf(fresh, [0])
      expect((await daysOfSearches(fresh)).tasks).toEqual(withDays(25))
    } finally {
      await fresh.close()
    }
    await db.pool.query('TRUNCATE task')
  })

  it('are found although what was found cannot be noted', async () => {
    await db.pool.query('DELETE FROM open_days')
    await addTask(db, idAgo(25), 'accepted')
    const url = new URL(db.url)
    url.searchParams.set('options', '-c default_transaction_read_only=on')
    fresh = openAtNoon(url.href)
    try {
      expect((await daysOfSearches(fresh)).tasks).toEqual(withDays(25))
      expect((await db.pool.query('SELECT 1 FROM open_days')).rowCount).toBe(0)
    } finally {
      await fresh.close()
    }
    await db.pool.query('TRUNCATE task')
  })
})
