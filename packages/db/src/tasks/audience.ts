import { eachConcurrently } from '@herald/async'
import { type Audience, type DeviceGroup, type PlanDevice, smallAudience } from '@herald/domain'
import { hashOf, tokenKeySql } from '../devices/push-tokens.ts'
import { tagNumbersSql } from '../devices/tags.ts'
import { idList, textList } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { beginWithout, indexesOnly, inUncheckedTransaction, type Runner, run } from '../store/statement.ts'
import { runColumns } from '../store/text-columns.ts'

export type AudienceScope = {
  appId: string
  /** Only devices of this group's members. */
  groupId?: number
  audience: Audience
}

type DeviceRow = [
  id: number,
  platform: PlanDevice['platform'] | null,
  node: string | null,
  channel: PlanDevice['bindings'][number]['channel'] | null,
  environment: number,
  registeredAt: number,
  bundleId: string | null,
  region: string | null,
  readAt: number,
]

/** Instead of the node's name: the app of the device is in the background. A column of its own would cost every row of a broadcast. */
const AWAY = '*'

/** A device is online only if the lease of its node has not expired. */
const nodeSql = `CASE WHEN p.away AND n.id IS NOT NULL THEN '${AWAY}' ELSE n.id END`

/** One row per binding, in the order of device ids. */
const columnsOfDevice = [
  'd.id',
  'd.platform',
  nodeSql,
  'b.channel',
  'b.environment',
  // As a number: formatting timestamps takes a third of the time of a page.
  `(date_part('epoch', b.registered_at) * 1000000)::bigint`,
  'b.bundle_id',
  'b.region',
  `(date_part('epoch', now()) * 1000000)::bigint`,
] as const
const deviceColumns = columnsOfDevice.join(', ')
const deviceJoins = `
  LEFT JOIN presence p ON p.device_id = d.id
  LEFT JOIN gateway_node n ON n.id = p.node AND n.lease_until > now()
  LEFT JOIN binding b ON b.device_id = d.id`

/** Rows of one device follow each other. */
function devicesOf(rows: readonly (DeviceRow | [...DeviceRow, ord: number])[]): PlanDevice[] {
  const devices: PlanDevice[] = []
  let bindings: PlanDevice['bindings'][number][] = []
  for (const [id, platform, node, channel, environment, registeredAt, bundleId, region] of rows) {
    if (devices.at(-1)?.id !== id) {
      bindings = []
      devices.push({ id, ...stateOf(platform, node), bindings })
    }
    if (channel)
      bindings.push({
        channel,
        environment,
        registeredAt,
        bundleId: bundleId ?? undefined,
        region: region ?? undefined,
      })
  }
  return devices
}

/** Empty texts are the same as null. */
function stateOf(
  platform: string | null | undefined,
  node: string | null,
): Pick<PlanDevice, 'platform' | 'node' | 'away'> {
  const state = { platform: (platform || undefined) as PlanDevice['platform'] }
  if (node === AWAY) return { ...state, away: true }
  return { ...state, node: node || undefined }
}

/**
 * Selects the devices of an audience, each once, in ascending order, without disabled ones. $1 is the application, $2 the group or null, $3 the list. With
 * `range` only ids from $4 to below $5.
 */
function audienceSql(audience: Audience, range: boolean): string {
  const where = `d.app_id = $1 AND d.enabled ${range ? 'AND d.id >= $4 AND d.id < $5' : ''} AND ($2::bigint IS NULL OR EXISTS (
    SELECT 1 FROM group_member m WHERE m.group_id = $2 AND m.user_id = d.user_id))`
  switch (audience.kind) {
    case 'all':
      return `SELECT d.id, d.platform FROM device d WHERE ${where} AND $3::text IS NULL ORDER BY d.id`
    case 'tag':
      return `SELECT DISTINCT d.id, d.platform FROM device_tag t JOIN device d ON d.id = t.device_id
        WHERE t.tag_id = ANY(${tagNumbersSql('$3')}) ${range ? 'AND t.device_id >= $4 AND t.device_id < $5' : ''}
          AND ${where} ORDER BY d.id`
    case 'alias':
      return `SELECT d.id, d.platform FROM device d WHERE ${where} AND d.alias = ANY($3::text[]) ORDER BY d.id`
    case 'user_id':
      return `SELECT d.id, d.platform FROM device d WHERE ${where} AND d.user_id = ANY($3::bigint[]) ORDER BY d.id`
    case 'activity':
      return `SELECT DISTINCT d.id, d.platform FROM activity a JOIN device d ON d.id = a.device_id
        WHERE a.app_id = $1 AND a.kind = 'activity' AND a.name = ANY($3::text[])
          ${range ? 'AND a.device_id >= $4 AND a.device_id < $5' : ''} AND ${where} ORDER BY d.id`
    case 'recall':
      throw new Error('the recipients of a recall are those of its first task')
    case 'push_token':
    case 'push_token_hash':
      return `SELECT d.id, d.platform FROM device d WHERE ${where} AND ${tokenKeySql('d')} = ANY($3::bytea[]) ORDER BY d.id`
  }
}

export function listOf(audience: Audience): unknown {
  switch (audience.kind) {
    case 'all':
    case 'recall':
      return null
    case 'tag':
      return audience.tags
    case 'alias':
      return audience.aliases
    case 'user_id':
      return audience.userIds.map(String)
    case 'activity':
      return audience.activities
    case 'push_token':
      return audience.pushTokens.map(hashOf)
    case 'push_token_hash':
      return audience.hashes
  }
}

/**
 * Returns the audience's devices with ids from `lo` to below `hi`, by what their routes depend on; undefined if there are more than `max`.
 * Devices with at most one binding are grouped by Postgres, so that neither the driver nor `route()` handles each of them.
 */
export async function devicePage(
  db: Database,
  scope: AudienceScope,
  page: Page,
): Promise<{ count: number; groups: DeviceGroup[] } | undefined> {
  const groups = await inUncheckedTransaction(
    db,
    async (runner) => {
      const simple = withSeveral.has(scope.appId) ? undefined : await simplePage(runner, scope, page)
      return simple ?? pageWithSeveral(runner, scope, page)
    },
    isNarrow(page) ? merging : indexesOnly,
  )
  const count = groups.reduce((sum, { ids }) => sum + ids.length, 0)
  return count > page.max ? undefined : { count, groups }
}

type Page = { lo: number; hi: number; max: number }

/**
 * Of a narrow page all rows of the range are read in the order of ids and merged, which takes a third of the time of a look-up for each
 * device; a wide one has few devices among those of other applications. Postgres cannot tell: it expects as many devices as an application
 * has on average.
 */
const isNarrow = ({ lo, hi, max }: Page) => hi - lo <= 2 * max
const merging = beginWithout('nestloop', 'sort')
/** A connection keeps the plan of a name. */
const pageName = (scope: AudienceScope, page: Page) =>
  `${isNarrow(page) ? 'page' : 'wide-page'}-${scope.audience.kind}-${page.max}`

/**
 * Applications whose devices had several bindings. Finding these devices takes a third of the time of a page, so it is left out until
 * one was seen.
 */
const withSeveral = new Set<string>()
const MAX_NOTED = 10_000

function noteSeveral(appId: string): void {
  if (withSeveral.size >= MAX_NOTED) withSeveral.clear()
  withSeveral.add(appId)
}

/** Undefined if a device has several bindings. */
async function simplePage(
  runner: Runner,
  scope: AudienceScope,
  page: Page,
): Promise<DeviceGroup[] | undefined> {
  const columns = await runColumns(
    runner,
    pageName(scope, page),
    [
      idsOfGroup,
      'd.platform',
      nodeSql,
      'b.channel',
      'b.environment',
      'b.bundle_id',
      'b.region',
      'NULL',
    ] as const,
    `FROM ${pageSql(scope.audience, page)} GROUP BY 2, 3, 4, 5, 6, 7`,
    pageValues(scope, page),
  )
  const groups = readGroups(columns)
  if (!haveSeveral(groups)) return groups
  noteSeveral(scope.appId)
  return undefined
}

/** The bindings of a device have different channels, so they are in different groups. */
function haveSeveral(groups: readonly DeviceGroup[]): boolean {
  if (new Set(groups.flatMap(({ bindings }) => bindings[0]?.channel ?? [])).size < 2) return false
  const first = Math.min(...groups.map(({ ids }) => ids[0]!))
  const last = Math.max(...groups.map(({ ids }) => ids.at(-1)!))
  // A page spans at most four million ids.
  const seen = new Uint8Array(last - first + 1)
  for (const { ids } of groups) {
    for (const id of ids) {
      if (seen[id - first] === 1) return true
      seen[id - first] = 1
    }
  }
  return false
}

async function pageWithSeveral(runner: Runner, scope: AudienceScope, page: Page): Promise<DeviceGroup[]> {
  const columns = await runColumns(
    runner,
    `several-${pageName(scope, page)}`,
    // One row per group, or per binding of devices with several: only those need the time of registration.
    [
      idsOfGroup,
      'platform',
      'node',
      'channel',
      'environment',
      'bundle_id',
      'region',
      // As a number: formatting a timestamp takes longer than the rest of the row.
      `CASE WHEN bool_or(has_several) THEN (date_part('epoch', min(registered_at)) * 1000000)::bigint END`,
    ] as const,
    `FROM (
       SELECT d.id, d.platform, ${nodeSql} AS node, b.channel, b.environment, b.bundle_id, b.region, b.registered_at,
         lag(d.id) OVER w IS NOT DISTINCT FROM d.id OR lead(d.id) OVER w IS NOT DISTINCT FROM d.id AS has_several
       FROM ${pageSql(scope.audience, page)}
       WINDOW w AS (ORDER BY d.id)
     ) d
     GROUP BY platform, node, channel, environment, bundle_id, region, CASE WHEN has_several THEN id END, CASE WHEN has_several THEN registered_at END`,
    pageValues(scope, page),
  )
  return readGroups(columns)
}

/** Half of the time that `string_agg` takes. */
const idsOfGroup = `array_to_string(array_agg(d.id), ',')`

/**
 * The devices `d` of a page with their bindings `b`. If the rows are merged, the range is given for every table; otherwise Postgres reads
 * them whole. The look-ups are in subqueries of their own: of a table that was empty Postgres reads all rows for each device.
 */
function pageSql(audience: Audience, page: Page): string {
  const devices = `(${audienceSql(audience, true)} LIMIT ${page.max + 1}) d`
  const join = (table: string, as: string) =>
    isNarrow(page)
      ? `LEFT JOIN ${table} ${as} ON ${as}.device_id = d.id AND ${as}.device_id >= $4 AND ${as}.device_id < $5`
      : `LEFT JOIN LATERAL (SELECT * FROM ${table} WHERE device_id = d.id OFFSET 0) ${as} ON true`
  return `${devices} ${join('presence', 'p')}
       LEFT JOIN gateway_node n ON n.id = p.node AND n.lease_until > now()
       ${join('binding', 'b')}`
}

function pageValues({ appId, groupId, audience }: AudienceScope, { lo, hi }: Page): unknown[] {
  return [appId, groupId ?? null, listOf(audience), lo, hi]
}

type PageColumns = readonly [
  lists: string[],
  platforms: string[],
  nodes: string[],
  channels: string[],
  environments: string[],
  bundles: string[],
  regions: string[],
  registered: string[],
]

function readGroups(columns: PageColumns): DeviceGroup[] {
  const [lists, platforms, nodes, channels, environments, bundles, regions, registered] = columns
  const groups: DeviceGroup[] = []
  const several = new Map<string, DeviceGroup & { bindings: PlanDevice['bindings'][number][] }>()
  lists.forEach((list, i) => {
    let group = registered[i] ? several.get(list) : undefined
    if (!group) {
      const ids = ascending(list.split(',').map(Number))
      group = { ids, ...stateOf(platforms[i]!, nodes[i]!), bindings: [] }
      groups.push(group)
      if (registered[i]) several.set(list, group)
    }
    if (channels[i])
      group.bindings.push({
        channel: channels[i] as PlanDevice['bindings'][number]['channel'],
        environment: Number(environments[i]),
        registeredAt: Number(registered[i]),
        bundleId: bundles[i] || undefined,
        region: regions[i] || undefined,
      })
  })
  return groups
}

/** Postgres may group by sorting, which does not keep the order of ids. */
function ascending(ids: number[]): number[] {
  return ids.every((id, i) => i === 0 || ids[i - 1]! < id) ? ids : ids.sort((a, b) => a - b)
}

/**
 * Returns the audience's devices, or undefined if it is not small. Reads a limited number of rows, so that a request for a million
 * devices costs no more than one for a thousand.
 */
async function smallAudienceOf(db: Database, scope: AudienceScope): Promise<Resolved> {
  const { audience } = scope
  const values = [scope.appId, scope.groupId ?? null, listOf(audience)]
  const bound =
    audience.kind === 'tag' || audience.kind === 'activity'
      ? audience.kind
      : audience.kind === 'all' && scope.groupId !== undefined
        ? 'group'
        : undefined
  if (bound) {
    const limit = 5 * smallAudience
    const [count] = await run<[number]>(
      db.pool,
      `bound-${bound}`,
      `SELECT count(*)::int FROM (${boundSql[bound]} LIMIT $3) r`,
      [scope.appId, bound === 'group' ? scope.groupId : values[2], limit],
    )
    if (count![0] >= limit) return {}
    if (audience.kind === 'all') return groupDevices(db, scope)
  }
  const rows = await run<DeviceRow>(
    db.pool,
    `small-${audience.kind}`,
    `SELECT ${deviceColumns} FROM (${audienceSql(audience, false)} LIMIT ${smallAudience + 1}) d ${deviceJoins} ORDER BY d.id`,
    values,
  )
  return resolvedFrom(rows)
}

/** Rows that a statement of `audienceSql` reads before it sorts them. $1 is the application, $2 the list or the group. */
const boundSql = {
  tag: `SELECT 1 FROM device_tag WHERE tag_id = ANY(${tagNumbersSql('$2')})`,
  activity: `SELECT 1 FROM activity WHERE app_id = $1 AND kind = 'activity' AND name = ANY($2::text[])`,
  group:
    'SELECT 1 FROM group_member m JOIN device d ON d.app_id = $1 AND d.user_id = m.user_id WHERE m.group_id = $2',
}

async function groupDevices(db: Database, scope: AudienceScope): Promise<Resolved> {
  const rows = await run<DeviceRow>(
    db.pool,
    'small-group',
    `SELECT ${deviceColumns} FROM group_member m JOIN device d ON d.app_id = $1 AND d.user_id = m.user_id ${deviceJoins}
     WHERE m.group_id = $2 AND d.enabled ORDER BY d.id`,
    [scope.appId, scope.groupId],
  )
  return resolvedFrom(rows)
}

/** Without devices the audience is not small. `readAt` is Unix µs, by the clock of Postgres; of no rows nothing depends on it. */
type Resolved = { devices?: PlanDevice[]; readAt?: number }

function resolvedFrom(rows: readonly (DeviceRow | [...DeviceRow, ord: number])[]): Resolved {
  const devices = devicesOf(rows)
  return devices.length > smallAudience ? {} : { devices, readAt: rows[0]?.[8] }
}

/** Requests for one device each are resolved together: one statement for many costs a tenth of one statement per request. */
const groupable = {
  push_token: `${tokenKeySql('d')} = r.value::bytea`,
  push_token_hash: `${tokenKeySql('d')} = r.value::bytea`,
  user_id: 'd.user_id = r.value::bigint',
  alias: 'd.alias = r.value',
}
const MAX_GROUPED_VALUES = 5
/** Statements of one call at a time. 64 broadcasts would take all connections of the process, and other callers would give up waiting. */
const MAX_CONCURRENT = 3

/** In the order of the requests; undefined for those that are not small. */
export type SmallAudiences = {
  audiences: (PlanDevice[] | undefined)[]
  /** When the first of them was read, in Unix µs by the clock of Postgres. Undefined: no devices were found. */
  readAt?: number
}

/**
 * The earliest of these times, for all tasks of a commit. A device that gets another owner after it must not get the push: it may have
 * been read before.
 */
export function firstReadAt(tasks: readonly { readAt?: number }[]): number | undefined {
  const times = tasks.flatMap(({ readAt }) => readAt ?? [])
  return times.length > 0 ? times.reduce((a, b) => Math.min(a, b)) : undefined
}

export async function resolveSmallAudiences(db: Database, scopes: AudienceScope[]): Promise<SmallAudiences> {
  const resolved: Resolved[] = scopes.map(() => ({ devices: [] }))
  const work: (() => Promise<void>)[] = []
  const grouped = new Map<keyof typeof groupable, { ord: number; value: string }[]>()
  scopes.forEach((scope, ord) => {
    const { kind } = scope.audience
    const values = listOf(scope.audience) as string[] | null
    if (kind in groupable && values && new Set(values).size <= MAX_GROUPED_VALUES) {
      const list = grouped.get(kind as keyof typeof groupable) ?? []
      for (const value of new Set(values)) list.push({ ord, value })
      grouped.set(kind as keyof typeof groupable, list)
    } else {
      work.push(async () => {
        resolved[ord] = await smallAudienceOf(db, scope)
      })
    }
  })
  for (const [kind, entries] of grouped) work.push(() => resolveGrouped(db, kind, entries, scopes, resolved))
  await eachConcurrently(work, MAX_CONCURRENT, (resolve) => resolve())
  return { audiences: resolved.map(({ devices }) => devices), readAt: firstReadAt(resolved) }
}

async function resolveGrouped(
  db: Database,
  kind: keyof typeof groupable,
  entries: { ord: number; value: string }[],
  scopes: AudienceScope[],
  resolved: Resolved[],
): Promise<void> {
  const rows = await run<[...DeviceRow, ord: number]>(
    db.pool,
    `grouped-${kind}`,
    `SELECT ${deviceColumns}, r.ord
     FROM unnest($1::int[], $2::text[], $3::bigint[], $4::text[]) AS r (ord, app_id, group_id, value)
     CROSS JOIN LATERAL (SELECT * FROM device d WHERE d.app_id = r.app_id AND d.enabled AND ${groupable[kind]}
       AND (r.group_id IS NULL OR EXISTS (
         SELECT 1 FROM group_member m WHERE m.group_id = r.group_id AND m.user_id = d.user_id))
       LIMIT ${smallAudience + 1}) d ${deviceJoins}
     ORDER BY r.ord, d.id`,
    [
      idList(entries.map((entry) => entry.ord)),
      textList(entries.map((entry) => scopes[entry.ord]!.appId)),
      idList(entries.map((entry) => scopes[entry.ord]!.groupId ?? 'NULL')),
      textList(entries.map((entry) => entry.value)),
    ],
  )
  // The rows of a request follow each other.
  for (let from = 0; from < rows.length; ) {
    const ord = rows[from]!.at(-1) as number
    let to = from + 1
    while (to < rows.length && rows[to]!.at(-1) === ord) to++
    resolved[ord] = resolvedFrom(rows.slice(from, to))
    from = to
  }
}

/** Without disabled devices: they have no next channel either. */
export async function devicesById(runner: Runner, ids: readonly number[]): Promise<PlanDevice[]> {
  const rows = await run<DeviceRow>(
    runner,
    'devices-by-id',
    `SELECT ${deviceColumns} FROM device d ${deviceJoins} WHERE d.id = ANY($1::bigint[]) AND d.enabled ORDER BY d.id`,
    [ids],
  )
  return devicesOf(rows)
}
