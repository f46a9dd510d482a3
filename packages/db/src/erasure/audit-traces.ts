import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'

const PAGE = 5000

/**
 * Replaces the person's names in the audit; action, time and other actors stay. The address of a failed login is the person's own.
 * Reads the application's entries page by page.
 */
export async function eraseFromAudit(
  db: Database,
  appId: string,
  person: { userId?: string; guids: readonly string[]; aliases: readonly string[] },
): Promise<void> {
  for (let last: { at: string; id: number } | undefined; ; ) {
    const { rows } = await retrying(() =>
      db.pool.query<{ at: string; id: number }>(eraseSql, [
        appId,
        last?.at ?? '-infinity',
        last?.id ?? 0,
        person.userId ?? null,
        [...new Set(person.guids)],
        [...new Set(person.aliases)],
      ]),
    )
    last = rows[0]
    if (!last) return
  }
}

const eraseSql = `
WITH page AS MATERIALIZED (
  SELECT id, at, actor, detail FROM audit WHERE app_id = $1 AND (at, id) > ($2::timestamptz, $3::bigint)
  ORDER BY at, id LIMIT ${PAGE}
), erased AS (
  UPDATE audit a SET
    actor = CASE WHEN $4::text IS NULL THEN a.actor ELSE regexp_replace(a.actor, '\\muser ' || $4 || '$', 'user [erased]') END,
    detail = (SELECT coalesce(jsonb_object_agg(d.key, CASE WHEN d.key IN ('user_id', 'device_guid', 'alias') THEN '"[erased]"' ELSE d.value END), '{}')
      FROM jsonb_each(a.detail) d WHERE NOT (d.key = 'address' AND a.action = 'login.failed'))
  FROM page p WHERE a.id = p.id AND (
    p.detail ->> 'user_id' = $4 OR p.detail ->> 'device_guid' = ANY ($5::text[]) OR p.detail ->> 'alias' = ANY ($6::text[]) OR p.actor ~ ('\\muser ' || $4 || '$'))
)
SELECT at::text, id FROM page ORDER BY at DESC, id DESC LIMIT 1`
