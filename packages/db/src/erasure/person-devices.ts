import { clearOwnerData } from '../devices/devices.ts'
import { type TokenRow, tokenColumns, tokenKeySql } from '../devices/push-tokens.ts'
import { rememberErased } from '../ledger/erased-devices.ts'
import { clearInboxesOf } from '../ledger/inbox-clearing.ts'
import type { Database } from '../store/database.ts'
import type { Days } from '../store/days.ts'
import { retrying } from '../store/errors.ts'
import { openDays } from '../store/open-days.ts'
import { inTransaction, type Runner } from '../store/statement.ts'
import type { Person } from './person.ts'

/** What is known about a device that is erased. */
export type ErasedDevice = TokenRow & {
  id: number
  alias: string | null
  /** Unix ms. */
  createdAt: number
  /** The hash of its push token, as audiences have it. */
  key: string
  /** Its present and its retired ones, and those of its Live Activities. */
  vendorTokens: string[]
  /** The names of its Live Activities. */
  activities: string[]
}

/** Devices per transaction, so that no device stays locked for long. */
const CHUNK = 100
/** Devices per page when they are only read. */
const PAGE = 1000

/** A condition on the device `d`, with $2 as its value. */
function conditionOf(person: Person): { sql: string; value: string } {
  if ('userId' in person) return { sql: 'd.user_id = $2::bigint', value: String(person.userId) }
  if ('alias' in person) return { sql: 'd.alias = $2', value: person.alias }
  return { sql: 'd.guid = $2', value: person.guid }
}

/** In which the device writer locks devices. */
const writersOrder = `d.guid COLLATE "C"`

async function readDevices(
  runner: Runner,
  appId: string,
  person: Person,
  { after, limit, lock }: { after: number; limit: number; lock: boolean },
): Promise<ErasedDevice[]> {
  const { sql, value } = conditionOf(person)
  const { rows } = await runner.query<ErasedDevice>(
    `SELECT d.id, d.alias, ${tokenColumns('d')}, (extract(epoch FROM d.created_at) * 1000)::float8 AS "createdAt",
       ${tokenKeySql('d')}::text AS key,
       ARRAY(SELECT token FROM binding b WHERE b.device_id = d.id
         UNION SELECT token FROM retired_token r WHERE r.device_id = d.id
         UNION SELECT token FROM activity a WHERE a.device_id = d.id) AS "vendorTokens",
       ARRAY(SELECT name FROM activity a WHERE a.device_id = d.id AND a.kind = 'activity') AS activities
     FROM device d WHERE d.app_id = $1 AND ${sql} AND d.id > $3
     ORDER BY ${lock ? writersOrder : 'd.id'} LIMIT $4 ${lock ? 'FOR UPDATE OF d' : ''}`,
    [appId, value, after, limit],
  )
  return rows
}

export async function devicesOf(db: Database, appId: string, person: Person): Promise<ErasedDevice[]> {
  const devices: ErasedDevice[] = []
  for (;;) {
    const after = devices.at(-1)?.id ?? 0
    const page = await readDevices(db.pool, appId, person, { after, limit: PAGE, lock: false })
    devices.push(...page)
    if (page.length < PAGE) return devices
  }
}

/** Unix ms; infinity without devices. An alias may have more devices than a call may have arguments. */
export function firstCreated(devices: readonly Pick<ErasedDevice, 'createdAt'>[]): number {
  return devices.reduce((first, { createdAt }) => Math.min(first, createdAt), Number.POSITIVE_INFINITY)
}

export async function clearInboxes(db: Database, devices: readonly ErasedDevice[]): Promise<void> {
  for (let at = 0; at < devices.length; at += CHUNK) {
    const ids = devices.slice(at, at + CHUNK).map(({ id }) => id)
    const days = await openDays(db)
    await retrying(() => clearInboxesOf(db.pool, days, ids))
  }
}

/**
 * What was planned for these devices until now is not sent, as if they had got another person. They are not disabled for that: a device
 * that gets another person before it is erased must receive what is sent to that one.
 */
export async function endMessages(db: Database, appId: string, person: Person): Promise<void> {
  const { sql, value } = conditionOf(person)
  for (let after = 0; ; ) {
    const { rows } = await retrying(() =>
      db.pool.query<{ count: number; last: number }>(
        `WITH page AS MATERIALIZED (
           SELECT d.id FROM device d WHERE d.app_id = $1 AND ${sql} AND d.id > $3 ORDER BY d.id LIMIT ${CHUNK}
         ), locked AS MATERIALIZED (
           SELECT d.id FROM device d JOIN page p ON p.id = d.id WHERE d.app_id = $1 AND ${sql}
           ORDER BY ${writersOrder} FOR NO KEY UPDATE OF d
         ), moved AS (
           UPDATE device d SET moved_at = clock_timestamp() FROM locked l WHERE d.id = l.id
         )
         SELECT count(*)::int AS count, max(id) AS last FROM page`,
        [appId, value, after],
      ),
    )
    const { count, last } = rows[0]!
    if (count < CHUNK) return
    after = last
  }
}

/** Removes the person's devices with all that belongs to them, also those that are created while it runs, and returns them. */
export async function eraseDevices(db: Database, appId: string, person: Person): Promise<ErasedDevice[]> {
  const erased: ErasedDevice[] = []
  for (;;) {
    const days = await openDays(db)
    const chunk = await retrying(() =>
      inTransaction(db, async (runner) => {
        const devices = await readDevices(runner, appId, person, { after: 0, limit: CHUNK, lock: true })
        if (devices.length > 0)
          await eraseLocked(
            runner,
            days,
            devices.map(({ id }) => id),
          )
        return devices
      }),
    )
    if (chunk.length === 0) return erased
    erased.push(...chunk)
  }
}

async function eraseLocked(runner: Runner, days: Days, ids: number[]): Promise<void> {
  await runner.query('DELETE FROM device WHERE id = ANY($1)', [ids])
  await rememberErased(runner, ids)
  await deleteBindings(runner, ids)
  await runner.query('DELETE FROM retired_token WHERE device_id = ANY($1)', [ids])
  await clearOwnerData(runner, days, ids)
  // Their gateways notice and close the connections.
  await runner.query('DELETE FROM presence WHERE device_id = ANY($1)', [ids])
  await runner.query(
    `SELECT count_daily(day, channel, devices, -255, 0) FROM (
       SELECT c.day, c.channel, array_agg(d.id ORDER BY d.id) AS devices
       FROM daily_count c JOIN unnest($1::bigint[]) AS d (id) ON c.block = d.id >> 8 GROUP BY 1, 2 ORDER BY 1, 2
     ) counted`,
    [ids],
  )
}

async function deleteBindings(runner: Runner, ids: number[]): Promise<void> {
  // In the order in which settles lock bindings.
  await runner.query(
    `WITH locked AS MATERIALIZED (
       SELECT device_id, channel FROM binding WHERE device_id = ANY($1) ORDER BY device_id, channel FOR UPDATE
     ) DELETE FROM binding b USING locked l WHERE b.device_id = l.device_id AND b.channel = l.channel`,
    [ids],
  )
}

/** Of the names of a kind those that no device has, except these devices. */
export async function unusedNames(
  db: Database,
  kind: keyof typeof namedSql,
  appId: string,
  names: readonly string[],
  deviceIds: readonly number[],
): Promise<string[]> {
  if (names.length === 0) return []
  const { rows } = await db.pool.query<{ name: string }>(
    `SELECT n.name FROM unnest($2::text[]) AS n (name) WHERE NOT EXISTS (${namedSql[kind]} <> ALL($3::bigint[]))`,
    [appId, names, deviceIds],
  )
  return rows.map(({ name }) => name)
}

const namedSql = {
  alias: 'SELECT 1 FROM device d WHERE d.app_id = $1 AND d.alias = n.name AND d.id',
  activity: `SELECT 1 FROM activity a WHERE a.app_id = $1 AND a.kind = 'activity' AND a.name = n.name AND a.device_id`,
}
