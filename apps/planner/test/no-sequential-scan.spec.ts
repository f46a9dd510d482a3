import { cancelTask, recordReceipts } from '@herald/db/tasks'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Machine, startMachine } from './machine.ts'

const ROWS = 200_000
const watched = ['device', 'device_tag', 'binding', 'batch', 'receipt', 'counter', 'task']

describe('the pipeline on 200,000 rows of each large table', () => {
  let machine: Machine
  let app: string
  let big: string
  beforeAll(async () => {
    machine = await startMachine()
    app = await machine.addApplication('big')
    const other = await machine.addApplication('other')
    big = other
    const { pool } = machine.db
    await pool.query(
      `INSERT INTO device (app_id, guid, push_token, platform, alias, user_id)
       SELECT $1, 'g' || n, 'p' || n, 'android', 'a' || n, n FROM generate_series(1, ${ROWS}) n`,
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
    await machine.addDevices(
      app,
      Array.from({ length: 3000 }, (_, i) => ({
        tokens: { oppo: `o${i}:${i % 7 === 0 ? 'gone' : 'accepted'}`, fcm: `f${i}:accepted` },
        tag: i % 2 ? 'odd' : 'even',
        alias: `alias${i}`,
        userId: i,
      })),
    )
  }, 120_000)
  afterAll(() => machine.stop())

  it('reads every large table through its indexes', async () => {
    await machine.startPlanner()
    await machine.startWorkers(['oppo', 'fcm'])
    const { pool } = machine.db
    const tokens = (
      await pool.query('SELECT push_token FROM device WHERE app_id = $1 ORDER BY id LIMIT 20', [app])
    ).rows
    const before = await scans()

    const tasks = [
      await machine.notify(app, { audience: { kind: 'all' } }),
      await machine.notify(app, { audience: { kind: 'tag', tags: ['odd', 'none'] } }),
      await machine.notify(app, { audience: { kind: 'alias', aliases: ['alias7', 'alias8'] } }),
      await machine.notify(app, { audience: { kind: 'user_id', userIds: [5n, 6n] }, requestId: 'once' }),
      await machine.notify(app, {
        audience: { kind: 'push_token', pushTokens: tokens.map((row) => row.push_token) },
      }),
      await machine.notify(app, { audience: { kind: 'tag', tags: ['even'] }, speed: 5000 }),
    ]
    for (const task of tasks) await machine.finished(task, 60)
    // A broadcast to every row: its pages are a large share of the tables, which tempts the planner of Postgres most.
    const everyone = await machine.notify(big)
    await until(async () => (await machine.stateOf(everyone)) === 'sending', {
      seconds: 60,
      what: 'the plan',
    })
    await cancelTask(machine.db, { appId: big }, everyone)
    await machine.finished(everyone, 60)
    expect(await machine.counters(everyone)).toEqual({ xiaomi: { target: ROWS, cancelled: ROWS } })
    const sent = await pool.query(
      `SELECT recipients[1] AS device FROM batch WHERE task_id = $1 AND channel = 'oppo' AND status LIKE 's%'`,
      [tasks[0]],
    )
    await recordReceipts(
      machine.db,
      sent.rows.map(({ device }) => ({
        appId: app,
        taskId: tasks[0]!,
        deviceId: device,
        event: 'received' as const,
      })),
    )

    const after = await scans()
    expect(await machine.imbalances()).toEqual([])
    expect(Object.fromEntries(watched.map((table) => [table, after[table]! - before[table]!]))).toEqual(
      Object.fromEntries(watched.map((table) => [table, 0])),
    )
  }, 120_000)

  /** Sequential scans of tables and partitions with rows, by table. Empty partitions cost nothing to scan. */
  async function scans(): Promise<Record<string, number>> {
    // Every backend reports its counts at the end of a statement, but at most once a second.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    const { rows } = await machine.db.pool.query<{ name: string; scans: number }>(
      `SELECT regexp_replace(relname, '_[0-9]{8}$', '') AS name, sum(seq_scan)::int AS scans FROM pg_stat_user_tables
       WHERE n_live_tup > 100 OR relname !~ '_[0-9]{8}$' GROUP BY 1`,
    )
    return Object.fromEntries(rows.map((row) => [row.name, row.scans]))
  }
})
