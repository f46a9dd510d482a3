import { hashOf, tokenKeySql } from '../devices/push-tokens.ts'
import { movedAfterSql } from '../ledger/moved-devices.ts'
import type { Database } from '../store/database.ts'

/** Who is asked about: one device, or all devices of a user or with an alias. */
export type Recipient = { pushToken: string } | { guid: string } | { userId: bigint } | { alias: string }

export type FoundDevice = {
  deviceId: number
  guid: string
  userId: string | null
  alias: string | null
  /**
   * Messages of tasks that began before are not this person's: the device had another user or alias. Unix ms; 0 if it had no other, or if
   * a device was asked about.
   */
  since: number
}

/** More devices of one person are refused: each costs a search. */
export const MAX_PERSON_DEVICES = 100

/** Returns the devices, at most one more than MAX_PERSON_DEVICES, in the order of their ids. With a group only those of its members. */
export async function findRecipientDevices(
  db: Database,
  scope: { appId: string; groupId?: number },
  by: Recipient,
): Promise<FoundDevice[]> {
  const [condition, value, isPerson] = conditionOf(by)
  const movedAt = `CASE WHEN ${movedAfterSql('d', `'-infinity'`)} THEN (extract(epoch FROM d.moved_at) * 1000)::float8 ELSE 0 END`
  const { rows } = await db.pool.query<FoundDevice>(
    `SELECT d.id AS "deviceId", d.guid, d.user_id::text AS "userId", d.alias, ${isPerson ? movedAt : '0::float8'} AS since
     FROM device d WHERE d.app_id = $1 AND ${condition} AND ($3::bigint IS NULL OR EXISTS (
       SELECT 1 FROM group_member m WHERE m.group_id = $3 AND m.user_id = d.user_id))
     ORDER BY d.id LIMIT ${MAX_PERSON_DEVICES + 1}`,
    [scope.appId, value, scope.groupId ?? null],
  )
  return rows
}

function conditionOf(by: Recipient): [condition: string, value: string, isPerson: boolean] {
  if ('pushToken' in by) return [`${tokenKeySql('d')} = $2::bytea`, hashOf(by.pushToken), false]
  if ('guid' in by) return ['d.guid = $2', by.guid, false]
  if ('userId' in by) return ['d.user_id = $2::bigint', String(by.userId), true]
  return ['d.alias = $2', by.alias, true]
}
