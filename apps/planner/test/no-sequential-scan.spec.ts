import { cancelTask, recordReceipts } from '@herald/db/tasks'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Harness, startHarness } from './harness.ts'

const ROWS = 200_000
const watched = ['device', 'device_tag', 'binding', 'batch', 'receipt', 'counter', 'task']

describe('the pipeline on 200,000 rows of each large table', () => {
  let harness: Harness
  let app: string
  let big: string
  beforeAll(async () => {
    harness = await startHarness()
    app = await harness.addApplication('big')
    const other = await harness.addApplication('other')
    big = other
    const { pool } = harness.db
    await pool.query(
      `INSERT INTO device (app_id, guid, push_token_hash, platform, alias, user_id)
       SELECT $1, 'g' || n, push_token_hash('p' || n), 'android', 'a' || n, n FROM generate_series(1, ${ROWS}) n`,
      [other],
    )
    await pool.query(
      `INSERT INTO binding (device_id, channel, app_id, token) SELECT id, 'xiaomi', app_id, 't' || id || ':accepted' FROM device`,
    )
    await pool.query(`INSERT INTO tag (app_id, name) SELECT DISTINCT app_id, 'tag' || id % 100 FROM device`)
    await pool.query(
      `INSERT INTO device_tag (tag_id, device_id) SELECT tag.id, device.id FROM device
         JOIN tag ON tag.app_id = device.app_id AND name = 'tag' || device.id % 100`,
    )
    await pool.query(
      `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, finished_at)
       SELECT next_task_id() - 4096 * n, $1, 'finished', '{}', 'combined', '{}', '{}', 'high', 0, now()
       FROM generate_series(1, ${ROWS}) n ON CONFLICT DO NOTHING`,
      [other],
    )
    await pool.query(
      `INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline)
       SELECT id, app_id, 'xiaomi', 1, 'high', 'settled', 1, ARRAY[id], 's', now() FROM task`,
    )
    await pool.query(
      `INSERT INTO counter (task_id, channel, target, sent) SELECT id, 'xiaomi', 1, 1 FROM task`,
    )
    await pool.query(`INSERT INTO receipt (task_id, device_id, channel) SELECT id, 1, 'xiaomi' FROM task`)
    await pool.query('ANALYZE')
    await harness.addDevices(
      app,
      Array.from({ length: 3000 }, (_, i) => ({
        tokens: { oppo: `o${i}:${i % 7 === 0 ? 'gone' : 'accepted'}`, fcm: `f${i}:accepted` },
        tag: i % 2 ? 'odd' : 'even',
        alias: `alias${i}`,
        userId: i,
      })),
    )
  })
  afterAll(() => harness.stop())

  it('reads every large table through its indexes', async () => {
    const { pool } = harness.db
    // The planner replaces clear text by hashes.
    const tokens = (
      await pool.query('SELECT push_token FROM device WHERE app_id = $1 ORDER BY id LIMIT 20', [app])
    ).rows
    await harness.startPlanner()
    await harness.startWorkers(['oppo', 'fcm'])
    const before = await scans()

    const tasks = [
      await harness.notify(app, { audience: { kind: 'all' } }),
      await harness.notify(app, { audience: { kind: 'tag', tags: ['odd', 'none'] } }),
      await harness.notify(app, { audience: { kind: 'alias', aliases: ['alias7', 'alias8'] } }),
      await harness.notify(app, { audience: { kind: 'user_id', userIds: [5n, 6n] }, requestId: 'once' }),
      await harness.notify(app, {
        audience: { kind: 'push_token', pushTokens: tokens.map((row) => row.push_token) },
      }),
      await harness.notify(app, { audience: { kind: 'tag', tags: ['even'] }, speed: 5000 }),
    ]
    for (const task of tasks) await harness.finished(task)
    // A broadcast to every row: its pages are a large share of the tables, for which Postgres prefers a sequential scan.
    const everyone = await harness.notify(big)
    await until(async () => (await harness.stateOf(everyone)) === 'sending', {
      what: 'the plan',
    })
    await cancelTask(harness.db, { appId: big }, everyone)
    await harness.finished(everyone)
    expect(await harness.counters(everyone)).toEqual({ xiaomi: { target: ROWS, cancelled: ROWS } })
    const sent = await pool.query(
      `SELECT recipients[1] AS device FROM batch WHERE task_id = $1 AND channel = 'oppo' AND status LIKE 's%'`,
      [tasks[0]],
    )
    await recordReceipts(
      harness.db,
      sent.rows.map(({ device }) => ({
        appId: app,
        taskId: tasks[0]!,
        deviceId: device,
        event: 'received' as const,
      })),
    )

    const after = await scans()
    expect(await harness.imbalances()).toEqual([])
    expect(Object.fromEntries(watched.map((table) => [table, after[table]! - before[table]!]))).toEqual(
      Object.fromEntries(watched.map((table) => [table, 0])),
    )
  })

  /** Lets every connection report its statistics, which an idle one may do seconds later. */
  async function reportScans(): Promise<void> {
    const { pool } = harness.db
    const clients = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()))
    for (const client of clients) await client.query('SELECT pg_stat_force_next_flush()')
    for (const client of clients) {
      await client.query('SELECT 1')
      client.release()
    }
  }

  /** Returns the number of sequential scans per table, without those of empty partitions, which cost nothing. */
  async function scans(): Promise<Record<string, number>> {
    await reportScans()
    const { rows } = await harness.db.pool.query<{ name: string; scans: number }>(
      `SELECT regexp_replace(relname, '_[0-9]{8}$', '') AS name, sum(seq_scan)::int AS scans FROM pg_stat_user_tables
       WHERE n_live_tup > 100 OR relname !~ '_[0-9]{8}$' GROUP BY 1`,
    )
    return Object.fromEntries(rows.map((row) => [row.name, row.scans]))
  }
})
