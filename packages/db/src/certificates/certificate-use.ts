import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** Messages sent within this number of seconds after a save may have been sent with the credentials before it: workers learn of it by a cache. */
const UNSURE_SECONDS = 20

/**
 * SQL that notes certificates of the relation `ids (id)` with which a vendor has accepted messages. A row is written once after a save and
 * then at most once an hour; otherwise this reads two rows.
 */
export const noteUseSql = (ids: string) => `INSERT INTO certificate_use AS u (certificate_id, worked_at)
  SELECT c.id, now() FROM ${ids} i JOIN certificate c ON c.id = i.id LEFT JOIN certificate_use k ON k.certificate_id = c.id
  WHERE c.updated_at < now() - interval '${UNSURE_SECONDS} seconds'
    AND (k.worked_at IS NULL OR k.worked_at < c.updated_at OR k.worked_at < now() - interval '1 hour')
  ORDER BY c.id
  ON CONFLICT (certificate_id) DO UPDATE SET worked_at = excluded.worked_at`

/** The vendor accepted the credentials in a check. With `version` nothing is noted if others were saved since. */
export async function noteCheckedCertificate(db: Database, id: number, version?: number): Promise<void> {
  await run(
    db.pool,
    'note-checked-certificate',
    `INSERT INTO certificate_use AS u (certificate_id, worked_at)
     SELECT id, greatest(clock_timestamp(), updated_at) FROM certificate WHERE id = $1 AND ($2::int IS NULL OR version = $2)
     ON CONFLICT (certificate_id) DO UPDATE SET worked_at = excluded.worked_at`,
    [id, version ?? null],
  )
}

/** When the vendor last accepted the present credentials of the application's certificates, Unix ms, by certificate. */
export async function certificateUse(db: Database, appId: string): Promise<Map<number, number>> {
  const rows = await run<[number, number]>(
    db.pool,
    'certificate-use',
    `SELECT c.id, (extract(epoch FROM u.worked_at) * 1000)::float8 FROM certificate c JOIN certificate_use u ON u.certificate_id = c.id
     WHERE c.app_id = $1 AND u.worked_at >= c.updated_at`,
    [appId],
  )
  return new Map(rows)
}
