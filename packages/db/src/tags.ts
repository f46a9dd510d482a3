import type { Database } from './database.ts'
import { retrying } from './retrying.ts'
import { inTransaction } from './statement.ts'

export const tagsPerDevice = 100

export async function tagsOf(db: Database, appId: string, deviceId: number): Promise<string[]> {
  const { rows } = await db.pool.query<{ tag: string }>(
    'SELECT tag FROM device_tag WHERE device_id = $1 AND app_id = $2 ORDER BY tag',
    [deviceId, appId],
  )
  return rows.map((row) => row.tag)
}

/** All or none: 'too many' when the device would have more than `tagsPerDevice`. */
export async function addTags(
  db: Database,
  appId: string,
  deviceId: number,
  tags: string[],
): Promise<'added' | 'too many'> {
  return retrying(() =>
    inTransaction(db, async (runner) => {
      // Two adds at once would each see room for themselves.
      await runner.query('SELECT 1 FROM device WHERE id = $1 AND app_id = $2 FOR UPDATE', [deviceId, appId])
      const { rows } = await runner.query<{ total: number }>(
        `SELECT count(*) AS total FROM (
           SELECT tag FROM device_tag WHERE device_id = $1 AND app_id = $2 UNION SELECT unnest($3::text[])) t`,
        [deviceId, appId, tags],
      )
      if (rows[0]!.total > tagsPerDevice) return 'too many' as const
      await runner.query(
        `INSERT INTO device_tag (app_id, tag, device_id)
         SELECT $2, tag, $1 FROM unnest($3::text[]) tag ON CONFLICT DO NOTHING`,
        [deviceId, appId, tags],
      )
      return 'added' as const
    }),
  )
}

/** `tags` undefined: all of them. Answers how many were removed. */
export async function removeTags(
  db: Database,
  appId: string,
  deviceId: number,
  tags?: string[],
): Promise<number> {
  const { rowCount } = await db.pool.query(
    'DELETE FROM device_tag WHERE device_id = $1 AND app_id = $2 AND ($3::text[] IS NULL OR tag = ANY($3))',
    [deviceId, appId, tags ?? null],
  )
  return rowCount ?? 0
}
