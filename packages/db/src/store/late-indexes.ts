import type pg from 'pg'
import type { Database } from './database.ts'
import { withOwnSession } from './partitions.ts'

type LateIndex = { name: string; table: string; definition: string }

/**
 * Builds the indexes that migrations left to the planner, because building them in a migration would block the writes of a large table. A
 * table with partitions has the index already, as have new days; each day without it gets one, which is then attached. When all
 * have it, the index is valid and its row is deleted. Writes continue; a statement that needs the index reads such days row by row until then. May be
 * interrupted at any time. `goOn` is asked before each build, which may take minutes.
 */
export async function buildLateIndexes(db: Database, goOn: () => Promise<boolean>): Promise<void> {
  const { rows: wanted } = await db.pool.query<LateIndex>(
    'SELECT name, of_table AS table, definition FROM late_index ORDER BY name',
  )
  if (wanted.length === 0) return
  await withOwnSession(db, async (client) => {
    for (const index of wanted) {
      if (!(await build(client, index, goOn))) return
      await client.query(
        `DELETE FROM late_index l USING pg_index i WHERE l.name = $1 AND i.indexrelid = to_regclass(l.name) AND i.indisvalid`,
        [index.name],
      )
    }
  })
}

/** How often a process asks which indexes are missing, while some are. */
const LOOK_MS = 30_000
const looks = new WeakMap<Database['pool'], { at: number; missing: ReadonlySet<string> }>()

/** Whether these indexes are complete, as far as this process knows. */
export async function areBuilt(db: Database, names: readonly string[]): Promise<boolean> {
  let look = looks.get(db.pool)
  if (!look || (look.missing.size > 0 && performance.now() - look.at > LOOK_MS)) {
    const { rows } = await db.pool.query<{ name: string }>('SELECT name FROM late_index')
    look = { at: performance.now(), missing: new Set(rows.map(({ name }) => name)) }
    looks.set(db.pool, look)
  }
  const { missing } = look
  return names.every((name) => !missing.has(name))
}

async function build(client: pg.Client, index: LateIndex, goOn: () => Promise<boolean>): Promise<boolean> {
  const { rows } = await client.query(`SELECT relkind AS kind FROM pg_class WHERE oid = $1::regclass`, [
    index.table,
  ])
  if (rows[0].kind !== 'p') {
    if (await isValid(client, index.name)) return true
    if (!(await goOn())) return false
    await buildConcurrently(client, index.name, index.table, index.definition)
    return true
  }
  await client.query(`CREATE INDEX IF NOT EXISTS ${index.name} ON ONLY ${index.table} ${index.definition}`)
  const { rows: days } = await client.query<{ day: string }>(
    `SELECT p.inhrelid::regclass::text AS day FROM pg_inherits p
     WHERE p.inhparent = $1::regclass AND NOT p.inhdetachpending AND NOT EXISTS (
       SELECT 1 FROM pg_inherits a JOIN pg_index i ON i.indexrelid = a.inhrelid
       WHERE a.inhparent = $2::regclass AND i.indrelid = p.inhrelid)
     -- The newest first: that is where most look-ups are.
     ORDER BY 1 DESC`,
    [index.table, index.name],
  )
  for (const { day } of days) {
    if (!(await goOn())) return false
    // As Postgres names the indexes of a day: within its 63 characters.
    const name = `${day}${index.name.slice(index.table.length)}`
    if (!(await isValid(client, name))) await buildConcurrently(client, name, day, index.definition)
    await client.query(`ALTER INDEX ${index.name} ATTACH PARTITION ${name}`)
  }
  return true
}

async function isValid(client: pg.Client, name: string): Promise<boolean> {
  const { rowCount } = await client.query(
    'SELECT 1 FROM pg_index WHERE indexrelid = to_regclass($1) AND indisvalid',
    [name],
  )
  return rowCount !== 0
}

/** An interrupted build leaves an index that is not valid. */
async function buildConcurrently(
  client: pg.Client,
  name: string,
  table: string,
  definition: string,
): Promise<void> {
  await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`)
  await client.query(`CREATE INDEX CONCURRENTLY ${name} ON ${table} ${definition}`)
}
