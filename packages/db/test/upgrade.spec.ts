import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestDatabase, testDatabase } from '@herald/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { certificateAt } from '../src/certificates/index.ts'
import { findDevice } from '../src/devices/index.ts'
import { findImbalances } from '../src/readings/index.ts'
import {
  createSealer,
  type Database,
  ensurePartitions,
  migrate,
  openDatabase,
  sharedKey,
} from '../src/store/index.ts'
import { readMigrations } from '../src/store/migrations.ts'
import { taskDetails } from '../src/tasks/index.ts'
import { findUserByLogin } from '../src/tenants/index.ts'

const prisma = join(import.meta.dirname, '../../../prisma')
const migrations = readMigrations(join(prisma, 'migrations'))
const [first] = migrations
const fixture = readFileSync(join(import.meta.dirname, 'fixtures/first-release.sql'), 'utf8')
const sealer = createSealer(Buffer.from('11'.repeat(32), 'hex'))

let database: TestDatabase
let db: Database
let folder: string
beforeEach(async () => {
  database = await testDatabase({ migrated: false })
  db = openDatabase(database.url)
  folder = mkdtempSync(join(tmpdir(), 'herald-upgrade-'))
  cpSync(join(prisma, 'schema.prisma'), join(folder, 'schema.prisma'))
})
afterEach(async () => {
  await db.close()
  await database.drop()
  rmSync(folder, { recursive: true })
})

/** The database as the release whose last migration this was left it. */
async function migrateTo(name: string): Promise<void> {
  for (const migration of migrations) {
    cpSync(join(prisma, 'migrations', migration.name), join(folder, 'migrations', migration.name), {
      recursive: true,
    })
    if (migration.name === name) break
  }
  await migrate(database.url, { folder })
}

async function fillAsFirstRelease(): Promise<number> {
  await ensurePartitions(db)
  const { rows } = await db.pool.query<{ id: number }>('SELECT next_task_id() AS id')
  await db.pool.query(fixture.replaceAll(':task', String(rows[0]!.id)))
  return Number(rows[0]!.id)
}

type Column = { type: string; nullable: boolean; filled: boolean }
/** Tables with their columns, and what else a write may run into. */
async function shape() {
  const { rows: columns } = await db.pool.query(
    `SELECT table_name || '.' || column_name AS name, table_name AS table, udt_name AS type, is_nullable = 'YES' AS nullable,
       column_default IS NOT NULL OR is_identity = 'YES' OR is_generated = 'ALWAYS' AS filled
     FROM information_schema.columns WHERE table_schema = 'public' AND table_name !~ '^_prisma|_\\d{8}$'`,
  )
  const { rows: hurdles } = await db.pool.query(
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
    hurdles: hurdles.map(({ table, rule }) => ({ table: table as string, rule: rule as string })),
  }
}

/** What statements of the release before would fail on. */
function breaks(
  before: Awaited<ReturnType<typeof shape>>,
  after: Awaited<ReturnType<typeof shape>>,
): string[] {
  const found: string[] = []
  for (const [name, column] of before.columns) {
    const now = after.columns.get(name)
    if (!now) found.push(`${name} is gone`)
    else if (now.type !== column.type) found.push(`${name} was ${column.type} and is ${now.type}`)
    else if (column.nullable && !now.nullable) found.push(`${name} takes no null any more`)
    else if (column.filled && !now.filled && !now.nullable) found.push(`${name} lost its default`)
  }
  for (const [name, { nullable, filled }] of after.columns) {
    const isNew = !before.columns.has(name) && before.tables.has(name.split('.')[0]!)
    if (isNew && !nullable && !filled) found.push(`${name} is new and must be written`)
  }
  const known = new Set(before.hurdles.map(({ table, rule }) => `${table} ${rule}`))
  for (const { table, rule } of after.hurdles)
    if (before.tables.has(table) && !known.has(`${table} ${rule}`))
      found.push(`${table} has a new rule: ${rule}`)
  return found
}

describe('a database of the first release', () => {
  it('comes to the present schema with all it holds, work under way included', async () => {
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

  it('is migrated while processes of that release go on writing', async () => {
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

describe('the present schema', () => {
  it('takes every statement of the first release', async () => {
    await migrate(database.url)
    await fillAsFirstRelease()
    expect(await findImbalances(db)).toEqual([])
  })

  it('was reached by steps each of which the release before can live with', async () => {
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

  it('would not pass with a step that breaks the release before', async () => {
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
      'device.alias takes no null any more',
    ])
  })
})
