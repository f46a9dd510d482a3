import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'

/** Entries per statement. */
const PAGE = 1000

/**
 * Replaces the person's names in the audit; action, time and other actors stay. The address of a failed login, and of what the person did
 * itself, is the person's own.
 */
export async function eraseFromAudit(
  db: Database,
  appId: string,
  person: { userId?: string; guids: readonly string[]; aliases: readonly string[] },
): Promise<void> {
  const userIds = person.userId === undefined ? [] : [person.userId]
  const guids = [...new Set(person.guids)]
  const aliases = [...new Set(person.aliases)]
  if (userIds.length + guids.length + aliases.length === 0) return
  for (;;) {
    const { rowCount } = await retrying(() => db.pool.query(eraseSql, [appId, userIds, guids, aliases]))
    if (rowCount! < PAGE) return
  }
}

/** The user id in an actor. The indexes of the audit have this expression. */
export const actingUserSql = (actor: string) => `substring(${actor} FROM '\\muser (.*)$')`
export const erasedActorSql = (actor: string) => `regexp_replace(${actor}, '\\muser .*$', 'user [erased]')`

// An entry that was changed is not found again. Each part reads an index of the entries that name somebody.
const found = (name: string, values: string) =>
  `SELECT id FROM audit a WHERE app_id = $1 AND ${name} IS NOT NULL AND ${name} = ANY (${values})`
const eraseSql = `
WITH named AS MATERIALIZED (
  SELECT id FROM (
    ${found("detail ->> 'user_id'", '$2::text[]')} UNION ALL ${found(actingUserSql('a.actor'), '$2::text[]')}
    UNION ALL ${found("detail ->> 'device_guid'", '$3::text[]')} UNION ALL ${found("detail ->> 'alias'", '$4::text[]')}
  ) n LIMIT ${PAGE}
)
UPDATE audit a SET
  actor = CASE WHEN ${actingUserSql('a.actor')} = ANY ($2::text[]) THEN ${erasedActorSql('a.actor')} ELSE a.actor END,
  detail = (SELECT coalesce(jsonb_object_agg(d.key, CASE WHEN d.key IN ('user_id', 'device_guid', 'alias') THEN '"[erased]"' ELSE d.value END), '{}')
    FROM jsonb_each(a.detail) d
    WHERE NOT (d.key = 'address' AND (a.action = 'login.failed' OR substring(a.actor FROM '^user (.*)$') = ANY ($2::text[]))))
FROM named n WHERE a.id = n.id`
