import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, startApp, until } from '@herald/testkit'
import { type TestDatabase, testDatabase } from '@herald/testkit/database'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { migrate, migrationState } from '../src/store/migrate.ts'
import { MigrationError, statementsOf } from '../src/store/migrations.ts'

let database: TestDatabase
let folder: string

beforeEach(async () => {
  database = await testDatabase({ migrated: false })
  folder = mkdtempSync(join(tmpdir(), 'herald-migrations-'))
  writeFileSync(join(folder, 'schema.prisma'), 'datasource db {\n  provider = "postgresql"\n}\n')
})
afterEach(async () => {
  rmSync(folder, { recursive: true })
  await database.drop()
})

function write(name: string, script: string): void {
  mkdirSync(join(folder, 'migrations', name), { recursive: true })
  writeFileSync(join(folder, 'migrations', name, 'migration.sql'), script)
}

async function query(sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(database.url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

const migrated = async () => {
  const logged: string[] = []
  await migrate(database.url, { folder, log: (sentence) => logged.push(sentence) })
  return logged
}
const finished = () =>
  query(`SELECT migration_name AS name FROM _prisma_migrations
         WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY 1`)

describe('migrate', () => {
  it('creates Herald’s tables, and does nothing when called again', async () => {
    await migrate(database.url)
    await migrate(database.url, { log: (sentence) => expect(sentence).toBe('nothing to log') })
    expect(await query('SELECT count(*)::int AS n FROM task')).toEqual([{ n: 0 }])
  })

  it('ends before the next migration when it is stopped, and continues there later', async () => {
    write('1_first', 'SELECT pg_advisory_xact_lock(1); CREATE TABLE a (n int)')
    write('2_second', 'ALTER TABLE a ADD m int')
    const holder = new pg.Client(database.url)
    await holder.connect()
    await holder.query('SELECT pg_advisory_lock(1)')
    const stopping = new AbortController()
    const stopped = migrate(database.url, { folder, signal: stopping.signal })
    await until(async () => (await query('SELECT FROM pg_locks WHERE NOT granted')).length > 0)
    stopping.abort(new Error('no longer needed'))
    await holder.end()
    await expect(stopped).rejects.toThrow('no longer needed')
    expect(await finished()).toEqual([{ name: '1_first' }])
    expect(await migrated()).toEqual(['applying 1 migration'])
    expect(await finished()).toEqual([{ name: '1_first' }, { name: '2_second' }])
  })

  it('applies new migrations in order', async () => {
    write('1_first', 'CREATE TABLE a (n int)')
    expect(await migrationState(database.url, folder)).toEqual({ applied: [], pending: ['1_first'] })
    expect(await migrated()).toEqual(['applying 1 migration'])
    write('2_second', 'ALTER TABLE a ADD m int')
    write('3_third', 'ALTER TABLE a RENAME m TO k')
    expect(await migrationState(database.url, folder)).toEqual({
      applied: ['1_first'],
      pending: ['2_second', '3_third'],
    })
    expect(await migrated()).toEqual(['applying 2 migrations'])
    expect(await migrated()).toEqual([])
    expect(await query('SELECT n, k FROM a')).toEqual([])
    expect(await finished()).toEqual([{ name: '1_first' }, { name: '2_second' }, { name: '3_third' }])
  })

  it('runs a script as a whole, with semicolons in functions and a comment at its end', async () => {
    write(
      '1_first',
      `CREATE FUNCTION two() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; RETURN 2; END $$; -- end`,
    )
    await migrated()
    expect(await query('SELECT two()')).toEqual([{ two: 2 }])
  })

  it('may be called by many processes at once', async () => {
    write('1_first', 'CREATE TABLE a (n int); SELECT pg_sleep(0.3); INSERT INTO a VALUES (1)')
    write('2_second', 'INSERT INTO a VALUES (2)')
    const runs = Array.from({ length: 4 }, () =>
      startApp('packages/db/test/run-migrate.ts', {}, [database.url, folder]),
    )
    for (const run of runs) expect({ ...(await run.exited), said: run.output() }).toMatchObject({ code: 0 })
    expect(runs.filter((run) => run.output().includes('applying'))).toHaveLength(1)
    expect(await query('SELECT n FROM a ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }])
  })

  it('repairs what a killed process left half done', async () => {
    write('1_first', 'CREATE TABLE a (n int)')
    write('2_second', 'CREATE TABLE b (n int); SELECT pg_sleep(60)')
    const run = startApp('packages/db/test/run-migrate.ts', {}, [database.url, folder])
    const asleep = () =>
      query(`SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()`)
    await until(async () => (await asleep()).length > 0)
    await run.stop('SIGKILL')
    expect(
      await query(`SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NULL`),
    ).toHaveLength(1)

    write('2_second', 'CREATE TABLE b (n int)')
    await migrated()
    expect(await query('SELECT FROM a, b')).toEqual([])
    expect(await finished()).toEqual([{ name: '1_first' }, { name: '2_second' }])
  })

  it('reports why a script failed, rolls it back, and tries again', async () => {
    write('1_first', 'CREATE TABLE a (n int); CREATE TABLE a (n int)')
    await expect(migrated()).rejects.toThrow(
      new MigrationError('The database could not be migrated: relation "a" already exists.'),
    )
    expect(await query(`SELECT to_regclass('a') AS a`)).toEqual([{ a: null }])
    await expect(migrated()).rejects.toThrow('relation "a" already exists')
    write('1_first', 'CREATE TABLE a (n int)')
    await migrated()
    expect(await query('SELECT n FROM a')).toEqual([])
  })

  it('rejects a database of a newer Herald', async () => {
    write('1_first', 'CREATE TABLE a (n int)')
    write('2_second', 'CREATE TABLE b (n int)')
    await migrated()
    rmSync(join(folder, 'migrations', '2_second'), { recursive: true })
    await expect(migrated()).rejects.toThrow(
      'The database was written by a newer Herald: it has the migration 2_second, which this one does not know.',
    )
  })

  it('accepts a database of a newer Herald that is compatible with this one', async () => {
    const since = (name: string) => `UPDATE compatible_since SET migration = '${name}'`
    const forget = (name: string) => rmSync(join(folder, 'migrations', name), { recursive: true })
    write(
      '1_first',
      `CREATE TABLE compatible_since (migration text); INSERT INTO compatible_since VALUES ('1_first')`,
    )
    write('2_second', 'CREATE TABLE b (n int)')
    write('3_third', 'CREATE TABLE c (n int)')
    await migrated()
    forget('3_third')
    expect(await migrated()).toEqual([])
    expect(await migrationState(database.url, folder)).toEqual({
      applied: ['1_first', '2_second'],
      pending: [],
    })

    // Not if it lacks a migration of ours,
    write('2_third', 'CREATE TABLE d (n int)')
    await expect(migrated()).rejects.toThrow('it has the migration 3_third, which this one does not know')
    forget('2_third')
    // nor if its programs must know a later migration than ours.
    await query(since('3_third'))
    await expect(migrated()).rejects.toThrow('it has the migration 3_third, which this one does not know')
    await query(since('2_second'))
    expect(await migrated()).toEqual([])
  })

  it('of this release starts on the database of a later, compatible one', async () => {
    const own = join(import.meta.dirname, '../../../prisma')
    cpSync(own, folder, { recursive: true })
    write('99990101000000_later', 'CREATE TABLE later (n int)')
    await migrated()
    expect(await finished()).toContainEqual({ name: '99990101000000_later' })
    await migrate(database.url, { log: (sentence) => expect(sentence).toBe('nothing to log') })
    // The release after that needs programs that know its migration.
    write('99990102000000_contract', `UPDATE compatible_since SET migration = '99990102000000_contract'`)
    await migrated()
    await expect(migrate(database.url)).rejects.toThrow('The database was written by a newer Herald')
  })

  it('gives way to the statements that wait behind it, and tries again', async () => {
    write('1_first', 'CREATE TABLE a (n int)')
    await migrated()
    write('2_second', 'ALTER TABLE a ADD m int')
    const reader = new pg.Client(database.url)
    await reader.connect()
    await reader.query('BEGIN; SELECT FROM a')
    const work = migrated()
    const waiting = () =>
      query(`SELECT FROM pg_stat_activity WHERE application_name = 'herald migrate' AND wait_event_type = 'Lock'
             AND datname = current_database()`)
    // The insert waits behind the ALTER. If that waited for the reader, which is open until the end, this would never return.
    for (let inserts = 0; inserts < 2; inserts++) {
      await until(async () => (await waiting()).length > 0)
      await query('INSERT INTO a VALUES (1)')
    }
    await reader.query('COMMIT')
    await reader.end()
    expect(await work).toEqual(['applying 1 migration'])
    expect(await query('SELECT n, m FROM a')).toEqual(Array(2).fill({ n: 1, m: null }))
  })

  it('runs a marked script outside a transaction, and repeats what a killed process left', async () => {
    write('1_first', 'CREATE TABLE a (n int); INSERT INTO a VALUES (1)')
    await migrated()
    const script = (pause: string) => `-- herald: outside a transaction
-- A build that was interrupted leaves an index that is not valid.
DROP INDEX CONCURRENTLY IF EXISTS a_n;
CREATE INDEX CONCURRENTLY a_n ON a (n)
  WHERE n > 0;
${pause}
CREATE INDEX CONCURRENTLY IF NOT EXISTS a_m ON a (n);
`
    write('2_index', script('SELECT pg_sleep(60);'))
    const run = startApp('packages/db/test/run-migrate.ts', {}, [database.url, folder])
    const asleep = () =>
      query(`SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()`)
    await until(async () => (await asleep()).length > 0)
    await run.stop('SIGKILL')
    expect(await finished()).toEqual([{ name: '1_first' }])

    write('2_index', script(''))
    expect(await migrated()).toEqual(['applying 1 migration'])
    expect(await finished()).toEqual([{ name: '1_first' }, { name: '2_index' }])
    expect(
      await query(`SELECT indexrelid::regclass::text AS name, indisvalid AS valid FROM pg_index
                   WHERE indrelid = 'a'::regclass ORDER BY 1`),
    ).toEqual([
      { name: 'a_m', valid: true },
      { name: 'a_n', valid: true },
    ])
  })

  it('runs a marked script while other processes wait for their turn', async () => {
    write('1_first', 'CREATE TABLE a (n int)')
    await migrated()
    write(
      '2_index',
      `-- herald: outside a transaction
SELECT pg_advisory_xact_lock(1);
CREATE INDEX CONCURRENTLY a_n ON a (n);
`,
    )
    const gate = new pg.Client(database.url)
    await gate.connect()
    await gate.query('SELECT pg_advisory_lock(1)')
    const runs = Array.from({ length: 3 }, migrated)
    // One runs the script, the others have asked for their turn. A build of an index waits for every statement that is older.
    const asking = () =>
      query(`SELECT FROM pg_stat_activity WHERE application_name = 'herald migrate' AND query LIKE '%advisory%'
             AND datname = current_database()`)
    await until(async () => (await asking()).length === 3)
    await gate.end()
    expect((await Promise.all(runs)).flat()).toEqual(['applying 1 migration'])
    expect(await query(`SELECT indisvalid FROM pg_index WHERE indrelid = 'a'::regclass`)).toEqual([
      { indisvalid: true },
    ])
  })

  it('splits only marked scripts', () => {
    expect(statementsOf('CREATE TABLE a (n int);\n-- herald: outside a transaction\n')).toBeUndefined()
    expect(
      statementsOf(`-- herald: outside a transaction\nSELECT 1;\n-- ; \nSELECT ';', 2\n; SELECT 3`),
    ).toEqual(['SELECT 1', `SELECT ';', 2\n; SELECT 3`])
  })

  it('rejects a database with another version of a migration', async () => {
    write('1_first', 'CREATE TABLE a (n int)')
    await migrated()
    write('1_first', 'CREATE TABLE a (n int, m int)')
    await expect(migrated()).rejects.toThrow('its migration 1_first differs from the one here')
  })

  it('names the database that it cannot open', async () => {
    const port = await freePort()
    await expect(migrate(`postgres://u:hush@127.0.0.1:${port}/nowhere`)).rejects.toThrow(
      `The database nowhere at 127.0.0.1:${port} cannot be opened: connect ECONNREFUSED 127.0.0.1:${port}.`,
    )
    const missing = new URL(database.url)
    missing.pathname = '/nowhere'
    await expect(migrate(missing.href)).rejects.toThrow(
      /cannot be opened: database "nowhere" does not exist\.$/,
    )
  })
})
