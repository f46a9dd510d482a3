import type { Database } from '../store/database.ts'
import { retrying, retryingStatement } from '../store/errors.ts'
import { inTransaction, type Runner } from '../store/statement.ts'
import type { FoundDevice } from './push-tokens.ts'

export const tagsPerDevice = 100

export async function tagsOf(db: Database, appId: string, deviceId: number): Promise<string[]> {
  const { rows } = await db.pool.query<{ tag: string }>(
    `SELECT name AS tag FROM device_tag JOIN tag ON tag.id = tag_id
     WHERE device_id = $1 AND app_id = $2 ORDER BY name`,
    [deviceId, appId],
  )
  return rows.map((row) => row.tag)
}

/**
 * Adds all tags, or none and returns 'too many' if the device would have more than `tagsPerDevice`, 'gone' if it was removed or has
 * another push token.
 */
export async function addTags(
  db: Database,
  appId: string,
  { deviceId, tokenGeneration }: FoundDevice,
  tags: string[],
): Promise<'added' | 'too many' | 'gone'> {
  return retrying(() =>
    inTransaction(db, async (runner) => {
      await insertTags(runner, appId, tags)
      // Without the lock two concurrent calls could exceed the limit together.
      const { rowCount } = await runner.query(
        'SELECT 1 FROM device WHERE id = $1 AND app_id = $2 AND token_generation = $3 FOR UPDATE',
        [deviceId, appId, tokenGeneration],
      )
      // Tags of a removed device would be counted forever.
      if (rowCount === 0) return 'gone' as const
      const { rows } = await runner.query<{ total: number }>(
        `SELECT count(*) AS total FROM (
           SELECT name FROM device_tag JOIN tag ON tag.id = tag_id WHERE device_id = $1 AND app_id = $2
           UNION SELECT unnest($3::text[])) t`,
        [deviceId, appId, tags],
      )
      if (rows[0]!.total > tagsPerDevice) return 'too many' as const
      await runner.query(
        `INSERT INTO device_tag (tag_id, device_id)
         SELECT id, $1 FROM tag WHERE app_id = $2 AND name = ANY($3::text[]) ON CONFLICT DO NOTHING`,
        [deviceId, appId, tags],
      )
      return 'added' as const
    }),
  )
}

/** Removes these tags, or all if undefined. Returns false if the device was removed or has another push token. */
export async function removeTags(
  db: Database,
  appId: string,
  { deviceId, tokenGeneration }: FoundDevice,
  tags?: string[],
): Promise<boolean> {
  const { rowCount } = await retryingStatement(() =>
    db.pool.query(
      `WITH found AS MATERIALIZED (
         SELECT id FROM device WHERE id = $1 AND app_id = $2 AND token_generation = $3 FOR UPDATE
       ), removed AS (
         DELETE FROM device_tag t USING found, tag
         WHERE t.device_id = found.id AND tag.id = t.tag_id AND tag.app_id = $2 AND ($4::text[] IS NULL OR tag.name = ANY($4))
       )
       SELECT 1 FROM found`,
      [deviceId, appId, tokenGeneration, tags ?? null],
    ),
  )
  return rowCount === 1
}

/** Inserts new tags. A tag stays when its last device is removed: that costs a few bytes and avoids a race with `addTags`. */
export async function insertTags(runner: Runner, appId: string, names: string[]): Promise<void> {
  await runner.query(
    `INSERT INTO tag (app_id, name) SELECT $1, name FROM unnest($2::text[]) name
     WHERE NOT EXISTS (SELECT 1 FROM tag t WHERE t.app_id = $1 AND t.name = name.name)
     ORDER BY name ON CONFLICT DO NOTHING`,
    [appId, names],
  )
}

/** The ids of tags of application $1 as an SQL array, from a parameter with their names. */
export function tagNumbersSql(names: `$${number}`): string {
  return `ARRAY(SELECT tag.id FROM tag WHERE tag.app_id = $1 AND tag.name = ANY(${names}::text[]))`
}
