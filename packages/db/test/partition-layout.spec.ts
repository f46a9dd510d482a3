import { describe, expect, it } from '@jest/globals'
import { type Database, ensurePartitions, openDatabase } from '../src/store/index.ts'
import { useDatabase } from './setup.ts'

describe('the look for missing partitions', () => {
  const db = useDatabase()

  it('reads the catalog and opens no partition, so that it costs little with many days', async () => {
    const looks: { text: string; values: unknown[] }[] = []
    const pool = new Proxy(db.pool, {
      get(target, key) {
        if (key !== 'query') return Reflect.get(target, key)
        return (text: string, values: unknown[]) => {
          if (typeof text === 'string' && text.includes('pg_inherits')) looks.push({ text, values })
          return target.query(text, values)
        }
      },
    })
    await ensurePartitions({ ...db, pool } as Database)
    expect(looks).toHaveLength(1)
    // Of a session that has opened none: Postgres keeps what it has read about a table.
    const fresh = openDatabase(db.url, { max: 1 })
    try {
      const { text, values } = looks[0]!
      const { rows } = await fresh.pool.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values)
      const { Plan: plan } = rows[0]['QUERY PLAN'][0]
      expect(plan['Actual Rows']).toBeGreaterThan(60)
      const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
      expect(blocks).toBeLessThan(plan['Actual Rows'] * 7)
    } finally {
      await fresh.close()
    }
  })
})
