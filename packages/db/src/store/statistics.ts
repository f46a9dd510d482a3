import type { Database } from './database.ts'
import { partitioned } from './partitions.ts'
import { run } from './statement.ts'

/** A partition of fewer pages is read as a whole nearly as fast as by an index, even if a statement does so for each of its rows. */
const FEW_PAGES = 8
/** By what the partition has grown since its statistics were taken. */
const GROWTH = 4

/**
 * Takes the statistics of today's partitions, and of those of request ids, that have grown. They begin empty, and Postgres then plans to
 * read all rows; prepared statements keep that plan until the partition is analyzed. Autovacuum does so only after a minute, in which a
 * busy installation writes a hundred thousand rows. Costs one statement while nothing grows.
 */
export async function analyzeGrown(db: Database): Promise<void> {
  const grown = await run<[name: string]>(
    db.pool,
    'grown-partitions',
    // pg_class is asked for each name: joined with it, Postgres would first read the size of every table and index of the database.
    `WITH partition AS MATERIALIZED (
       SELECT to_regclass(name) AS id FROM (
         SELECT t.name || '_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD') FROM unnest($1::text[]) AS t (name)
         UNION ALL SELECT 'request_' || period FROM request_period
       ) AS p (name)
     )
     SELECT id::text FROM partition WHERE pg_relation_size(id)
       > current_setting('block_size')::bigint * greatest(${FEW_PAGES}, ${GROWTH} * (SELECT relpages FROM pg_class WHERE oid = id))`,
    [partitioned],
  )
  for (const [name] of grown) await db.pool.query(`ANALYZE (SKIP_LOCKED) ${name}`)
}
