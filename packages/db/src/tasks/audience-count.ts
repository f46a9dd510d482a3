import { eachConcurrently } from '@herald/async'
import type { Audience, PlanDevice } from '@herald/domain'
import { tokenKeySql } from '../devices/push-tokens.ts'
import { tagNumbersSql } from '../devices/tags.ts'
import type { Database } from '../store/database.ts'
import { indexesOnly, inUncheckedTransaction, run } from '../store/statement.ts'
import { type AudienceScope, listOf } from './audience.ts'

/** Devices that the routing cannot tell apart, and how many of them there are. */
export type DeviceKind = { device: PlanDevice; count: number }

export type CountedAudience = {
  /** Without disabled devices. */
  kinds: DeviceKind[]
  /** False: there may be more devices than were counted. */
  exact: boolean
}

/** Ids per statement that reads devices. */
const PART = 25_000
/** Statements of one call at a time. */
const CONCURRENT = 2

/**
 * Counts the devices of an audience by what determines their route. Postgres counts them, because a hundred thousand devices as objects
 * would take longer than the caller waits. Finds at most `max` + 1 ids first and stops after `max` devices, so that an audience of
 * a million costs no more than one of `max`.
 */
export async function countAudience(
  db: Database,
  scope: AudienceScope,
  max: number,
): Promise<CountedAudience> {
  const found = new Map<string, DeviceKind>()
  let devices = 0
  for (let after = 0; ; ) {
    const parts = await findIds(db, scope, after, max)
    await eachConcurrently(parts, CONCURRENT, async ({ ids }) => {
      for (const row of await countPart(db, ids)) {
        const key = row.slice(0, 3).join('|')
        const kind = found.get(key)
        if (kind) kind.count += row[3]
        else found.set(key, kindOf(row, found.size))
        devices += row[3]
      }
    })
    const isCut = parts.reduce((sum, { size }) => sum + size, 0) > max
    if (!isCut || devices > max) return { kinds: [...found.values()], exact: devices <= max }
    // Some of the ids were those of disabled devices.
    after = Math.max(...parts.map(({ last }) => last))
  }
}

type Part = { ids: string; size: number; last: number }

/** Returns the lowest ids of the audience above `after`, at most `max` + 1, in parts. Disabled devices may be among them. */
async function findIds(db: Database, scope: AudienceScope, after: number, max: number): Promise<Part[]> {
  const [name, sql] = idsSql(scope, max)
  const values = [scope.appId, scope.groupId ?? null, listOf(scope.audience), after]
  const read = `SELECT array_agg(id)::text, count(*)::int, max(id) FROM (
      SELECT id, (row_number() OVER (ORDER BY id) - 1) / ${PART} AS part FROM (${sql}) found
    ) numbered GROUP BY part ORDER BY part`
  const rows = await inUncheckedTransaction(
    db,
    (runner) =>
      run<[ids: string, size: number, last: number]>(runner, `count-ids-${name}-${max}`, read, values),
    indexesOnly,
  )
  return rows.map(([ids, size, last]) => ({ ids, size, last }))
}

/** Returns a name and the statement. Ids are read from indexes alone where that is possible: `enabled` would cost a look at each row. */
function idsSql({ audience, groupId }: AudienceScope, max: number): [name: string, sql: string] {
  const first = `ORDER BY id LIMIT ${max + 1}`
  const { kind } = audience
  const all = indexSql(kind, max)
  if (groupId === undefined) return [kind, `${all} AND $2::bigint IS NULL ${first}`]
  const ofGroup = `SELECT d.id FROM device d WHERE d.app_id = $1 AND d.user_id = ANY(ARRAY(
    SELECT m.user_id FROM group_member m WHERE m.group_id = $2)) AND d.id > $4`
  if (kind === 'all') return ['group-all', `${ofGroup} AND $3::text IS NULL ${first}`]
  if (kind === 'tag')
    return [
      'group-tag',
      `SELECT DISTINCT t.device_id AS id FROM device_tag t
       WHERE t.tag_id = ANY(${tagNumbersSql('$3')}) AND t.device_id = ANY(ARRAY(${ofGroup})) ${first}`,
    ]
  const isMember = 'EXISTS (SELECT 1 FROM group_member m WHERE m.group_id = $2 AND m.user_id = d.user_id)'
  const condition =
    kind === 'activity'
      ? `EXISTS (SELECT 1 FROM device d WHERE d.id = a.device_id AND ${isMember})`
      : isMember
  return [`group-${kind}`, `${all} AND ${condition} ${first}`]
}

/** Ends with a condition, to which others can be added. */
function indexSql(kind: Audience['kind'], max: number): string {
  const device = 'SELECT d.id FROM device d WHERE d.app_id = $1 AND d.id > $4'
  switch (kind) {
    case 'all':
      return `${device} AND $3::text IS NULL`
    case 'alias':
      return `${device} AND d.alias = ANY($3::text[])`
    case 'user_id':
      return `${device} AND d.user_id = ANY($3::bigint[])`
    case 'activity':
      return `SELECT DISTINCT a.device_id AS id FROM activity a
        WHERE a.app_id = $1 AND a.kind = 'activity' AND a.name = ANY($3::text[]) AND a.device_id > $4`
    case 'tag':
      return `SELECT DISTINCT t.id FROM unnest(${tagNumbersSql('$3')}) n (tag_id) CROSS JOIN LATERAL (
          SELECT device_id AS id FROM device_tag WHERE tag_id = n.tag_id AND device_id > $4 ORDER BY device_id LIMIT ${max + 1}
        ) t WHERE true`
    case 'push_token':
    case 'push_token_hash':
      // OFFSET 0: otherwise Postgres may read all devices of the application in the order of their ids.
      return `SELECT d.id FROM (
          SELECT id, app_id, user_id FROM device t WHERE ${tokenKeySql('t')} = ANY($3::bytea[]) OFFSET 0
        ) d WHERE d.app_id = $1 AND d.id > $4`
    case 'recall':
      throw new Error('the recipients of a recall are those of its first task')
  }
}

type CountRow = [
  platform: PlanDevice['platform'] | null,
  connection: 'online' | 'away' | null,
  bindings: string | null,
  count: number,
]

/**
 * Each table is read once along its index, in the order of the ids, and the results are merged. Looked up device by device, a hundred
 * thousand of them take 0.8 s. Postgres expects ten elements of a list, and would look up.
 */
const alongIndexes = ['seqscan', 'bitmapscan', 'nestloop', 'sort'].reduce(
  (sql, plan) => `${sql}; SET LOCAL enable_${plan} = off`,
  'BEGIN; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL jit = off',
)

/** Most bindings are of the environment 1 and of no region: their text is the channel alone, which costs a third. */
const bindingSql = `b.channel || CASE WHEN b.environment = 1 AND b.region IS NULL THEN ''
  ELSE ':' || b.environment || ':' || coalesce(b.region, '') END`

/** Bindings in the order of their registration, the latest first: their times are not needed then, and would make every device a kind of its own. */
const partSql = `SELECT platform, connection, bindings, count(*)::int FROM (
    SELECT d.platform, CASE WHEN n.id IS NULL THEN NULL WHEN p.away THEN 'away' ELSE 'online' END AS connection, b.bindings
    FROM (SELECT id, platform FROM device WHERE id = ANY($1::bigint[]) AND enabled) d
    LEFT JOIN (SELECT device_id, node, away FROM presence WHERE device_id = ANY($1::bigint[])) p ON p.device_id = d.id
    LEFT JOIN gateway_node n ON n.id = p.node AND n.lease_until > now()
    LEFT JOIN (
      SELECT b.device_id, string_agg(${bindingSql}, ',' ORDER BY b.registered_at DESC, b.channel COLLATE "C") AS bindings
      FROM binding b WHERE b.device_id = ANY($1::bigint[]) GROUP BY b.device_id
    ) b ON b.device_id = d.id
  ) device GROUP BY platform, connection, bindings`

function countPart(db: Database, ids: string): Promise<CountRow[]> {
  return inUncheckedTransaction(
    db,
    (runner) => run<CountRow>(runner, 'count-part', partSql, [ids]),
    alongIndexes,
  )
}

function kindOf([platform, connection, bindings, count]: CountRow, id: number): DeviceKind {
  const parts = bindings === null ? [] : bindings.split(',')
  return {
    count,
    device: {
      id,
      platform: platform ?? undefined,
      node: connection === 'online' ? '*' : undefined,
      ...(connection === 'away' && { away: true }),
      bindings: parts.map((part, i) => {
        const [channel, environment = 1, region] = part.split(':')
        return {
          channel: channel as PlanDevice['bindings'][number]['channel'],
          environment: Number(environment),
          region: region || undefined,
          registeredAt: -i,
        }
      }),
    },
  }
}
