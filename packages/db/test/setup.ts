import type { Database } from '../src/store/index.ts'

export { addApplication, addCertificate } from '@herald/testkit/sample-tenant'
export { useDatabase } from '@herald/testkit/use-database'
export { settlementOf } from './settlement-of.ts'

/** From now on only ANALYZE changes what Postgres knows of the partitions of these tables. */
export async function stopAutovacuum({ pool }: Database, ...tables: string[]): Promise<void> {
  const { rows } = await pool.query(
    'SELECT inhrelid::regclass AS name FROM pg_inherits WHERE inhparent = ANY($1::regclass[])',
    [tables],
  )
  for (const { name } of rows) await pool.query(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`)
}
