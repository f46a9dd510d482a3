import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { type TestDatabase, testDatabase } from '@herald/testkit/database'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { certificateAt, hideCallbackKeys, saveCertificate } from '../src/certificates/index.ts'
import {
  claimDevice,
  findDevice,
  hideClearTokens,
  listDevices,
  openPushTokens,
  replacePushToken,
} from '../src/devices/index.ts'
import { isBeforeOldestTask } from '../src/history/index.ts'
import { findImbalances } from '../src/readings/index.ts'
import { dayOfId } from '../src/store/days.ts'
import {
  createSealer,
  type Database,
  ensurePartitions,
  migrate,
  openDatabase,
  sharedKey,
} from '../src/store/index.ts'
import { buildLateIndexes } from '../src/store/late-indexes.ts'
import { readMigrations } from '../src/store/migrations.ts'
import { openDays } from '../src/store/open-days.ts'
import { firstTaskIdAt, partitionUpgraded } from '../src/store/partitions.ts'
import {
  applyRetention,
  findByRequestId,
  settleEnded,
  taskDetails,
  taskFailures,
} from '../src/tasks/index.ts'
import { findUserByLogin } from '../src/tenants/index.ts'

const prisma = join(import.meta.dirname, '../../../prisma')
const migrations = readMigrations(join(prisma, 'migrations'))
const [first] = migrations
/** The last migration of the release whose `task` is one table. */
const before = '20261116050000_check_errors'
const fixture = readFileSync(join(import.meta.dirname, 'fixtures/first-release.sql'), 'utf8')
const sealer = createSealer(Buffer.from('11'.repeat(32), 'hex'))

const DAY = 86_400_000

let database: TestDatabase
let db: Database
let folder: string
beforeEach(async () => {
  database = await testDatabase({ migrated: false })
  db = openDatabase(database.url, { waitMs: 60_000 })
  folder = mkdtempSync(join(tmpdir(), 'herald-upgrade-'))
  cpSync(join(prisma, 'schema.prisma'), join(folder, 'schema.prisma'))
})
afterEach(async () => {
  await db.close()
  await database.drop()
  rmSync(folder, { recursive: true })
})

/** Migrates to the schema of the release whose last migration this was. */
async function migrateTo(name: string): Promise<void> {
  for (const migration of migrations) {
    cpSync(join(prisma, 'migrations', migration.name), join(folder, 'migrations', migration.name), {
      recursive: true,
    })
    if (migration.name === name) break
  }
  await migrate(database.url, { folder })
}

/** Partitions as the first release makes them, which has them for three tables. */
async function addPartitionsAsFirstRelease(): Promise<void> {
  for (const table of ['batch', 'receipt', 'inbox']) {
    for (let n = -1; n <= 7; n++) {
      const day = (Math.floor(Date.now() / DAY) + n) * DAY
      const name = `${table}_${new Date(day).toISOString().slice(0, 10).replaceAll('-', '')}`
      await db.pool.query(
        `CREATE TABLE IF NOT EXISTS ${name} PARTITION OF ${table} FOR VALUES FROM (${firstTaskIdAt(day)}) TO (${firstTaskIdAt(day + DAY)})`,
      )
    }
  }
}

async function fillAsFirstRelease(): Promise<number> {
  await addPartitionsAsFirstRelease()
  const { rows } = await db.pool.query<{ id: number }>('SELECT next_task_id() AS id')
  await db.pool.query(fixture.replaceAll(':task', String(rows[0]!.id)))
  return Number(rows[0]!.id)
}

type Column = { type: string; nullable: boolean; filled: boolean }
/** Returns the columns, and the constraints and unique indexes that a write may violate. */
async function shape() {
  const { rows: columns } = await db.pool.query(
    `SELECT table_name || '.' || column_name AS name, table_name AS table, udt_name AS type, is_nullable = 'YES' AS nullable,
       column_default IS NOT NULL OR is_identity = 'YES' OR is_generated = 'ALWAYS' AS filled
     FROM information_schema.columns WHERE table_schema = 'public' AND table_name !~ '^_prisma|_\\d{8}$'`,
  )
  const { rows: rules } = await db.pool.query(
    `SELECT c.relname AS table, pg_get_constraintdef(k.oid) AS rule FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
     WHERE k.connamespace = 'public'::regnamespace AND k.contype IN ('c', 'f', 'u', 'p', 'x') AND c.relname !~ '^_prisma|_\\d{8}$'
     UNION ALL
     SELECT t.relname, pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
     WHERE i.indisunique AND t.relnamespace = 'public'::regnamespace AND t.relname !~ '^_prisma|_\\d{8}$'`,
  )
  return {
    tables: new Set(columns.map(({ table }) => table as string)),
    columns: new Map(
      columns.map(({ name, type, nullable, filled }): [string, Column] => [name, { type, nullable, filled }]),
    ),
    rules: rules.map(({ table, rule }) => ({ table: table as string, rule: rule as string })),
  }
}

/** Returns the changes that break statements of the previous release. */
function breaks(
  before: Awaited<ReturnType<typeof shape>>,
  after: Awaited<ReturnType<typeof shape>>,
): string[] {
  const found: string[] = []
  for (const [name, column] of before.columns) {
    const now = after.columns.get(name)
    if (!now) found.push(`${name} is gone`)
    else if (now.type !== column.type) found.push(`${name} was ${column.type} and is ${now.type}`)
    else if (column.nullable && !now.nullable) found.push(`${name} no longer allows null`)
    else if (column.filled && !now.filled && !now.nullable) found.push(`${name} lost its default`)
  }
  for (const [name, { nullable, filled }] of after.columns) {
    const isNew = !before.columns.has(name) && before.tables.has(name.split('.')[0]!)
    if (isNew && !nullable && !filled) found.push(`${name} is new and must be written`)
  }
  const known = new Set(before.rules.map(({ table, rule }) => `${table} ${rule}`))
  // Unique because push_token and (app_id, channel, environment) are: no write of the previous release can violate them.
  const implied = ['device_token_hash', 'certificate_place']
  for (const { table, rule } of after.rules)
    if (
      !implied.some((index) => rule.includes(index)) &&
      before.tables.has(table) &&
      !known.has(`${table} ${rule}`)
    )
      found.push(`${table} has a new rule: ${rule}`)
  // An upsert of the previous release names the columns of a unique index.
  const kept = new Set(after.rules.map(({ rule }) => rule))
  for (const { table, rule } of before.rules)
    if (/UNIQUE|PRIMARY KEY/.test(rule) && !kept.has(rule)) found.push(`${table} lost a rule: ${rule}`)
  return found
}

describe('a database of the first release', () => {
  it('is migrated to the current schema with all its data, including work in progress', async () => {
    await migrateTo(first!.name)
    const taskId = await fillAsFirstRelease()
    await migrate(database.url)
    await ensurePartitions(db)
    const place = { application: 'old', channel: 'huawei', environment: 'production' } as const
    expect(await certificateAt(db, sealer, place)).toMatchObject({
      appSecret: 'secret of the first release',
      extra: { badge_class: 'a.B' },
      state: 'open',
    })
    expect(await sharedKey(db, sealer, 'token-signing', () => 'another')).toBe(
      'signing key of the first release',
    )
    expect(await findUserByLogin(db, 'old', 'anna@example.com')).toMatchObject({ userId: 10_001n })
    expect(await findDevice(db, 'old', { pushToken: 'push-token-1' })).toMatchObject({
      guid: 'phone-1',
      alias: 'first',
    })
    const [task] = await taskDetails(db, { appId: 'old' }, [taskId])
    expect(task?.counters.huawei).toMatchObject({ target: 2, sent: 1, received: 1 })
    expect(await findImbalances(db)).toEqual([])
    const { rows } = await db.pool.query('SELECT fallback_at, tried FROM inbox WHERE task_id = $1', [taskId])
    expect(rows).toEqual([{ fallback_at: null, tried: [] }])
  })

  it('keeps its failures, which have a text and no code, next to new ones; that release reads the codes', async () => {
    await migrateTo(first!.name)
    const taskId = await fillAsFirstRelease()
    await migrate(database.url)
    const add = (columns: string, values: string) =>
      db.pool.query(
        `INSERT INTO failure AS f (task_id, channel, fate, reason, count, samples${columns}) VALUES ($1, 'huawei', 'failed', ${values})
         ON CONFLICT (task_id, channel, fate, reason) DO UPDATE SET count = f.count + excluded.count`,
        [taskId],
      )
    await add('', `'none', 3, '{}'`)
    await add(', text', `'huawei.80300007', 2, '{}', 'all tokens invalid'`)
    const huawei = { channel: 'huawei', fate: 'failed', samples: [] }
    expect(await taskFailures(db, { appId: 'old' }, taskId)).toEqual([
      { ...huawei, code: null, reason: 'none', count: 3 },
      { ...huawei, code: 'huawei.80300007', reason: 'all tokens invalid', count: 2 },
    ])
    const { rows } = await db.pool.query('SELECT reason FROM failure WHERE task_id = $1 ORDER BY 1', [taskId])
    expect(rows).toEqual([{ reason: 'huawei.80300007' }, { reason: 'none' }])
  })

  it('keeps its push tokens and callback keys, and writes new ones in clear text while processes of that release may run', async () => {
    await migrateTo(first!.name)
    await fillAsFirstRelease()
    await migrate(database.url)
    // The fixture sets ids and leaves the sequences behind.
    await db.pool.query(`SELECT setval('device_id_seq', 100), setval('certificate_id_seq', 100)`)
    const tokens = await openPushTokens(db, sealer)
    const place = { application: 'old', channel: 'huawei', environment: 'production' } as const
    const { callbackKey } = (await certificateAt(db, sealer, place))!
    const shown = async () =>
      (await listDevices(db, tokens, { appId: 'old' }, {}, { limit: 10 })).map(({ guid, pushToken }) => [
        guid,
        pushToken,
      ])
    const old = await shown()
    expect(old).toContainEqual(['phone-1', 'push-token-1'])
    const clearText = async () =>
      (
        await db.pool.query(`SELECT push_token AS text FROM device WHERE push_token IS NOT NULL
        UNION ALL SELECT callback_key FROM certificate WHERE callback_key IS NOT NULL`)
      ).rows.map(({ text }) => text)

    const { pushToken } = await claimDevice(db, tokens, { appId: 'old', guid: 'new', userId: 10_001n })
    const made = await saveCertificate(db, sealer, {
      ...place,
      channel: 'oppo',
      ...{ name: '', appId: '', appKey: '', appSecret: '', certificate: '', extra: {} },
    })
    expect(await clearText()).toEqual(expect.arrayContaining([pushToken, made.callbackKey, callbackKey]))
    const replaced = await replacePushToken(db, tokens, { appId: 'old' }, 'new')
    expect(await clearText()).toContain(replaced)
    expect(await clearText()).not.toContain(pushToken)

    await db.pool.query(`UPDATE upgrade_window SET until = now()`)
    await hideCallbackKeys(db, sealer)
    for (let rows = 1; rows > 0; ) rows = await hideClearTokens(db, tokens, 2)
    expect(await clearText()).toEqual([])
    expect((await shown()).sort()).toEqual([...old, ['new', replaced]].sort())
    for (const [guid, pushToken] of await shown())
      expect(await findDevice(db, 'old', { pushToken: pushToken! })).toMatchObject({ guid })
    expect(await certificateAt(db, sealer, place)).toMatchObject({ callbackKey })

    // A process of that release that still runs: its device is found, and hidden by the next round.
    await db.pool.query(`INSERT INTO device (app_id, guid, push_token) VALUES ('old', 'late', 'late-token')`)
    expect(await findDevice(db, 'old', { pushToken: 'late-token' })).toMatchObject({ guid: 'late' })
    expect(await hideClearTokens(db, tokens, 10)).toBe(1)
    expect(await findDevice(db, 'old', { pushToken: 'late-token' })).toMatchObject({ guid: 'late' })
  })

  it('is migrated while processes of that release keep writing', async () => {
    await migrateTo(first!.name)
    await fillAsFirstRelease()
    let migrated = false
    let written = 0
    const writing = (async () => {
      while (!migrated || written < 20) {
        const n = 1000 + written++
        await db.pool.query(`INSERT INTO device (id, app_id, guid, push_token) VALUES ($1, 'old', $2, $2)`, [
          n,
          `w${n}`,
        ])
        await db.pool.query(
          `INSERT INTO inbox (task_id, device_id, app_id, expires_at) VALUES (next_task_id(), $1, 'old', now())`,
          [n],
        )
        await db.pool.query(`UPDATE counter SET sent = sent WHERE channel = 'huawei'`)
      }
    })()
    await migrate(database.url).finally(() => {
      migrated = true
    })
    await writing
    const { rows } = await db.pool.query(`SELECT count(*)::int AS n FROM device WHERE guid LIKE 'w%'`)
    expect(rows).toEqual([{ n: written }])
  })
})

describe('tables that get partitions', () => {
  const kinds = async () =>
    Object.fromEntries(
      (
        await db.pool.query(
          `SELECT relname, relkind FROM pg_class WHERE relname IN ('task', 'counter', 'failure') ORDER BY 1`,
        )
      ).rows.map(({ relname, relkind }) => [relname, relkind]),
    )
  const whole = { counter: 'r', failure: 'r', task: 'r' }
  const divided = { counter: 'p', failure: 'p', task: 'p' }
  const acceptAsBefore = (id: number, requestId: string) =>
    db.pool.query(
      `INSERT INTO task (id, app_id, request_id, state, audience, strategy, sequence, message, lane, ttl)
       VALUES ($1, 'old', $2, 'accepted', '{"kind":"all"}', 'combined', '{}', '{}', 'high', 60)
       ON CONFLICT (app_id, request_id) WHERE request_id IS NOT NULL DO NOTHING RETURNING id`,
      [id, requestId],
    )
  const accept = (requestId: string) => acceptPlan(db, 'old', {}, { requestId })
  const nextId = async () => Number((await db.pool.query('SELECT next_task_id() AS id')).rows[0].id)

  it('stay whole while programs of the previous release may run, and request ids of both are used once', async () => {
    await migrateTo(before)
    const taskId = await fillAsFirstRelease()
    await migrate(database.url)
    await ensurePartitions(db)
    await applyRetention(db, 30)
    expect(await kinds()).toEqual(whole)
    expect(await accept('order-1')).toMatchObject({ taskId, fresh: false })
    const first = await accept('order-2')
    expect(first.fresh).toBe(true)
    expect((await acceptAsBefore(await nextId(), 'order-2')).rowCount).toBe(0)
    const theirs = await nextId()
    expect((await acceptAsBefore(theirs, 'order-3')).rowCount).toBe(1)
    expect(await accept('order-3')).toMatchObject({ taskId: theirs, fresh: false })

    // One of theirs that is committed while ours waits for it.
    const client = await db.pool.connect()
    const late = await nextId()
    await client.query('BEGIN')
    await client.query(
      `INSERT INTO task (id, app_id, request_id, state, audience, strategy, sequence, message, lane, ttl)
       VALUES ($1, 'old', 'order-4', 'accepted', '{"kind":"all"}', 'combined', '{}', '{}', 'high', 60)`,
      [late],
    )
    const ours = accept('order-4')
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
    expect(await ours).toMatchObject({ taskId: late, fresh: false })
  })

  it('are searched from the oldest open task on, in one table and in one partition', async () => {
    await migrateTo(before)
    await fillAsFirstRelease()
    await migrate(database.url)
    await db.pool.query(
      `UPDATE task SET state = 'finished'; UPDATE batch SET state = 'settled'; DELETE FROM slice; DELETE FROM inbox`,
    )
    const open = [20, 12].map((days) => firstTaskIdAt(Date.now() - days * DAY))
    for (const id of open)
      await db.pool.query(
        `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl)
         VALUES ($1, 'old', 'accepted', '{"kind":"all"}', 'combined', '{}', '{}', 'high', 60)`,
        [id],
      )
    for (let ago = 0; ago <= 36; ago += 9) await ensurePartitions(db, Date.now() - ago * DAY)
    const firstDay = async () => {
      const fresh = openDatabase(database.url, { max: 1, waitMs: 60_000 })
      const { name } = await openDays(fresh)
      await fresh.close()
      return Number(name!.split('-')[0])
    }
    expect(await kinds()).toEqual(whole)
    expect(await firstDay()).toBe(dayOfId(open[0]!))
    await db.pool.query('UPDATE upgrade_window SET until = now()')
    await partitionUpgraded(db)
    expect(await kinds()).toEqual(divided)
    expect(await firstDay()).toBe(dayOfId(open[0]!))
    await db.pool.query(`UPDATE task SET state = 'finished' WHERE id = $1`, [open[0]])
    expect(await firstDay()).toBe(dayOfId(open[1]!))
    const { rows } = await db.pool.query('SELECT min(id) AS id FROM task')
    expect(await isBeforeOldestTask(db, rows[0].id - 1)).toBe(true)
    expect(await isBeforeOldestTask(db, rows[0].id)).toBe(false)
  })

  it('keep all rows, indexes, triggers and rights when the time of the previous release is over', async () => {
    await migrateTo(before)
    const taskId = await fillAsFirstRelease()
    await migrate(database.url)
    await db.pool.query('GRANT SELECT ON task TO PUBLIC')
    const indexes = async () =>
      (
        await db.pool.query(
          `SELECT indexname FROM pg_indexes WHERE tablename = 'task' AND indexname NOT IN ('task_request', 'task_open') ORDER BY 1`,
        )
      ).rows.map(({ indexname }) => indexname)
    const had = await indexes()
    const { rows: wanted } = await db.pool.query(`SELECT name FROM late_index WHERE of_table = 'task'`)
    const added = wanted.map(({ name }) => name as string)
    expect(added).toContain('task_wide')
    expect(had).toContain('task_accepted_id')
    await db.pool.query('UPDATE upgrade_window SET until = now()')
    await applyRetention(db, 30)
    expect(await kinds()).toEqual(divided)
    // A table with rows gets its newest indexes from the planner.
    const { rows: late } = await db.pool.query('SELECT name FROM late_index')
    expect(late).toEqual([])
    expect(await indexes()).toEqual([...had, ...added].sort())
    const { rows: attached } = await db.pool.query(
      `SELECT count(*)::int AS n FROM pg_index i WHERE i.indrelid = 'task_before'::regclass AND NOT i.indisvalid`,
    )
    expect(attached).toEqual([{ n: 0 }])
    const [task] = await taskDetails(db, { appId: 'old' }, [taskId])
    expect(task?.counters.huawei).toMatchObject({ target: 2, sent: 1, received: 1 })
    expect(await taskFailures(db, { appId: 'old' }, taskId)).toHaveLength(1)
    expect(await findImbalances(db)).toEqual([])
    expect(
      (await db.pool.query(`SELECT has_table_privilege('pg_monitor', 'task', 'SELECT') AS allowed`)).rows,
    ).toEqual([{ allowed: true }])
    // The trigger on `paused` works on old and on new rows.
    const fresh = await accept('order-9')
    await db.pool.query('DELETE FROM pause_change')
    await db.pool.query('UPDATE task SET paused = true WHERE id = ANY($1)', [[taskId, fresh.taskId]])
    expect((await db.pool.query('SELECT 1 FROM pause_change')).rowCount).toBe(2)
    // Request ids from before are still known, and a program that does not know the migration refuses the database.
    expect(await accept('order-1')).toMatchObject({ taskId, fresh: false })
    expect(await findByRequestId(db, 'old', 'order-1')).toBe(taskId)
    expect((await db.pool.query('SELECT migration FROM compatible_since')).rows).toEqual([
      { migration: '20261118010000_partitions' },
    ])
    await expect(acceptAsBefore(await nextId(), 'order-10')).rejects.toMatchObject({ code: '42P10' })
    await settleEnded(db)

    // Days after those of the old rows get partitions, and the old rows go away when they are old.
    const later = Date.now() + 20 * DAY
    await ensurePartitions(db, later)
    const { rows: days } = await db.pool.query(
      `SELECT 1 FROM pg_class WHERE relname ~ '^task_\\d{8}$' AND relispartition`,
    )
    expect(days).toHaveLength(9)
    await db.pool.query(`UPDATE task SET state = 'finished', finished_at = now()`)
    await applyRetention(db, 1, Date.now() + 29 * DAY)
    expect(await findByRequestId(db, 'old', 'order-1')).toBe(taskId)
    await applyRetention(db, 1, Date.now() + 60 * DAY)
    expect(await taskDetails(db, { appId: 'old' }, [taskId, fresh.taskId])).toEqual([])
    expect((await db.pool.query(`SELECT to_regclass('task_before') AS gone`)).rows).toEqual([{ gone: null }])
  })

  it('are divided while processes keep writing, and later if a reader has them locked', async () => {
    await migrateTo(before)
    await fillAsFirstRelease()
    await migrate(database.url)
    await db.pool.query('UPDATE upgrade_window SET until = now()')
    const reader = await db.pool.connect()
    await reader.query('BEGIN')
    await reader.query('SELECT 1 FROM task')
    await expect(partitionUpgraded(db)).rejects.toMatchObject({ code: '55P03' })
    expect((await kinds()).task).toBe('r')
    await reader.query('COMMIT')
    reader.release()
    let done = false
    let accepted = 0
    const writing = (async () => {
      while (!done || accepted < 20) {
        expect(await accept(`w${accepted}`)).toMatchObject({ fresh: true })
        expect(await accept(`w${accepted++}`)).toMatchObject({ fresh: false })
      }
    })()
    await partitionUpgraded(db).finally(() => {
      done = true
    })
    await writing
    expect(await kinds()).toEqual(divided)
    const { rows } = await db.pool.query(`SELECT count(*)::int AS n FROM task WHERE request_id LIKE 'w%'`)
    expect(rows).toEqual([{ n: accepted }])
  })
})

describe('indexes of tables with rows', () => {
  /** The last migration before the indexes. */
  const release = '20261119040000_audit_people'
  const late = async () =>
    (await db.pool.query('SELECT name FROM late_index ORDER BY 1')).rows.map(({ name }) => name)
  const built = async (table: string, index: string) =>
    (
      await db.pool.query(
        `SELECT count(*)::int AS days, count(*) FILTER (WHERE i.indisvalid AND EXISTS (
             SELECT 1 FROM pg_inherits a WHERE a.inhrelid = i.indexrelid AND a.inhparent = to_regclass($2)))::int AS attached,
           (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($2)) AS valid
         FROM pg_inherits p LEFT JOIN pg_index i ON i.indrelid = p.inhrelid
           AND pg_get_indexdef(i.indexrelid) LIKE '%' || (SELECT split_part(pg_get_indexdef(to_regclass($2)), ' USING ', 2)) || '%'
         WHERE p.inhparent = $1::regclass`,
        [table, index],
      )
    ).rows[0]
  const addBatch = () =>
    db.pool.query(
      `INSERT INTO batch (task_id, app_id, channel, lane, state, size, recipients, status, deadline)
       VALUES (next_task_id(), 'a', 'fcm', 'high', 'settled', 1, '{7}', 's', now())`,
    )

  beforeEach(async () => {
    await migrateTo(release)
    await ensurePartitions(db).catch(() => {})
    await db.pool.query(`UPDATE upgrade_window SET until = now()`)
    for (const table of ['batch', 'inbox', 'receipt', 'bundle'])
      for (let n = -1; n <= 7; n++) await addDay(table, n)
    await addBatch()
  })
  async function addDay(table: string, n: number): Promise<void> {
    const day = (Math.floor(Date.now() / DAY) + n) * DAY
    const name = `${table}_${new Date(day).toISOString().slice(0, 10).replaceAll('-', '')}`
    await db.pool.query(
      `CREATE TABLE IF NOT EXISTS ${name} PARTITION OF ${table} FOR VALUES FROM (${firstTaskIdAt(day)}) TO (${firstTaskIdAt(day + DAY)})`,
    )
  }

  it('are built for each day by the planner, while others write; a new day has them from the start', async () => {
    await migrate(database.url)
    expect(await late()).toContain('batch_devices')
    expect((await built('batch', 'batch_devices')).valid).toBe(false)
    await addDay('batch', 8)
    let done = false
    let written = 1
    const writing = (async () => {
      while (!done || written < 20) {
        await addBatch()
        written++
      }
    })()
    await applyRetention(db, 30).finally(() => {
      done = true
    })
    await writing
    expect(await late()).toEqual([])
    for (const [table, index] of [
      ['batch', 'batch_devices'],
      ['batch', 'batch_due'],
      ['batch', 'batch_paced_due'],
      ['batch', 'batch_asleep'],
      ['bundle', 'bundle_devices'],
      ['receipt', 'receipt_native'],
    ] as const) {
      const { days, attached, valid } = await built(table, index)
      expect([index, valid, days > 8, attached]).toEqual([index, true, true, days])
    }
    const { rows } = await db.pool.query(
      `SELECT count(*)::int AS n FROM batch WHERE recipients @> '{7}' AND octet_length(status) <= 64`,
    )
    expect(rows).toEqual([{ n: written }])
  })

  it('are completed after a build that was interrupted', async () => {
    await migrate(database.url)
    const day = new Date().toISOString().slice(0, 10).replaceAll('-', '')
    await db.pool.query(
      `CREATE INDEX batch_${day}_devices ON batch_${day} USING gin (recipients) WHERE octet_length(status) <= 64`,
    )
    await db.pool.query(
      `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'batch_${day}_devices'::regclass`,
    )
    let asked = 0
    await buildLateIndexes(db, async () => asked++ < 3)
    expect(await late()).toContain('batch_devices')
    await buildLateIndexes(db, async () => true)
    expect(await late()).toEqual([])
    const { days, attached, valid } = await built('batch', 'batch_devices')
    expect([valid, attached]).toEqual([true, days])
  })
})

describe('vendor tokens that were stored as typed', () => {
  const boundNow = async () =>
    (
      await db.pool.query<{ id: number; token: string; version: string; at: Date }>(
        'SELECT device_id AS id, token, xmin::text AS version, registered_at AS at FROM binding ORDER BY 1',
      )
    ).rows

  it('get one form, and the device that bound one last keeps it', async () => {
    await migrateTo('20261124000000_open_days')
    await db.pool.query(
      `INSERT INTO binding (device_id, channel, app_id, token, registered_at)
       SELECT b.device_id, b.channel, b.app_id, b.token, now() - make_interval(days => b.days) FROM (VALUES
         (1, 'apns', 'a', 'ABCD', 3), (2, 'apns', 'a', 'AbCd', 1), (3, 'apns', 'a', 'abcd', 2), (4, 'apns', 'b', 'ABCD', 9),
         (5, 'apns', 'a', 'EF01', 5), (6, 'apns', 'a', 'Not Hexadecimal', 5), (7, 'xiaomi', 'a', E' RegId\\n', 1),
         (8, 'xiaomi', 'a', 'RegId', 2), (9, 'fcm', 'a', 'ABCD', 5)) AS b (device_id, channel, app_id, token, days)`,
    )
    await db.pool.query(
      `INSERT INTO retired_token (app_id, channel, token, device_id, environment, registered_at, reason)
       SELECT 'a', 'apns', token, device, 1, now(), 'replaced' FROM (VALUES ('ef01', 5), ('abcd', 4)) AS r (token, device)`,
    )
    const before = new Map((await boundNow()).map((row) => [row.id, row]))
    await migrate(database.url)
    const after = await boundNow()
    expect(after.map(({ id, token }) => [id, token])).toEqual([
      [2, 'abcd'],
      [4, 'abcd'],
      [5, 'ef01'],
      [6, 'Not Hexadecimal'],
      [7, 'RegId'],
      [9, 'ABCD'],
    ])
    expect(after.map(({ at }) => at)).toEqual(after.map(({ id }) => before.get(id)!.at))
    const untouched = after.filter(({ id, version }) => version === before.get(id)!.version)
    expect(untouched.map(({ id }) => id)).toEqual([6, 9])
    const { rows } = await db.pool.query(
      'SELECT channel, token, device_id AS device, reason FROM retired_token ORDER BY 1',
    )
    expect(rows).toEqual([
      { channel: 'apns', token: 'abcd', device: 3, reason: 'moved' },
      { channel: 'xiaomi', token: 'RegId', device: 8, reason: 'moved' },
    ])
  })
})

describe('the current schema', () => {
  it('accepts every statement of the first release', async () => {
    await migrate(database.url)
    await fillAsFirstRelease()
    expect(await findImbalances(db)).toEqual([])
  })

  it('was reached by migrations that the release before each of them works with', async () => {
    await migrateTo(first!.name)
    let before = await shape()
    expect(before.columns.size).toBeGreaterThan(100)
    for (const { name } of migrations.slice(1)) {
      await migrateTo(name)
      const after = await shape()
      expect([name, breaks(before, after)]).toEqual([name, []])
      before = after
    }
  })

  it('would fail this check with a migration that breaks the previous release', async () => {
    await migrate(database.url)
    const before = await shape()
    await db.pool.query(`
      ALTER TABLE badge DROP COLUMN value;
      ALTER TABLE device ALTER COLUMN alias SET NOT NULL;
      ALTER TABLE counter ALTER COLUMN sent TYPE text;
      ALTER TABLE audit ADD COLUMN reason text NOT NULL;
      ALTER TABLE binding ADD CONSTRAINT short CHECK (length(token) < 10);
      CREATE UNIQUE INDEX one_alias ON device (app_id, alias);`)
    expect(
      breaks(before, await shape())
        .map((line) => line.split(':')[0])
        .sort(),
    ).toEqual([
      'audit.reason is new and must be written',
      'badge.value is gone',
      'binding has a new rule',
      'counter.sent was int8 and is text',
      'device has a new rule',
      'device.alias no longer allows null',
    ])
  })
})
