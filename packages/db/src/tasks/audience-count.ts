import { eachConcurrently } from '@herald/async'
import type { PlanDevice } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { indexesOnly, inTransaction, type Runner, run } from '../store/statement.ts'
import { type AudienceScope, audienceSql, listOf } from './audience.ts'

/** Devices that the routing cannot tell apart, and how many of them there are. */
export type DeviceKind = { device: PlanDevice; count: number }

export type CountedAudience = {
  /** Without disabled devices. */
  kinds: DeviceKind[]
  /** False: the audience has more devices than were counted. */
  exact: boolean
}

/**
 * `merge`: bindings and presence are read by the same range of ids as the devices. Good where most ids of the range are in the audience.
 * `look up`: they are looked up for each device.
 */
type Join = 'merge' | 'look up'
type Page = { lo: number; hi: number; join: Join }

/** Ids per page. */
const WIDTH = 32_000
/** Pages in which fewer of the ids are in the audience are sparse. */
const DENSE = 1 / 4
/** A sparse audience is read in this many parts, two at a time: reading it takes mostly the time of look-ups. */
const SPARSE_PARTS = 6
const CONCURRENT = 2

/**
 * Counts the devices of an audience by what determines their route. Postgres counts them, because a hundred thousand devices as objects
 * would take longer than the caller waits. Stops after `max` devices, so that an audience of a million costs no more than one of `max`.
 */
export async function countAudience(
  db: Database,
  scope: AudienceScope,
  max: number,
): Promise<CountedAudience> {
  const found = new Map<string, DeviceKind>()
  const take = async (page?: Page): Promise<number> => {
    let devices = 0
    for (const row of await countPage(db, scope, max, page)) {
      const kind = kindOf(row, found.size)
      const key = row.slice(0, 3).join('|')
      const known = found.get(key)
      if (known) known.count += kind.count
      else found.set(key, kind)
      devices += kind.count
    }
    return devices
  }
  const exact = isSearched(scope) ? (await take()) <= max : await takePages(db, scope, max, take)
  return { kinds: [...found.values()], exact }
}

/** Returns whether all pages were read. The first page decides how the others are read. */
async function takePages(
  db: Database,
  { appId }: AudienceScope,
  max: number,
  take: (page: Page) => Promise<number>,
): Promise<boolean> {
  const [range] = await run<[lo: number | null, hi: number]>(db.pool, 'count-range', rangeSql, [appId])
  const [lo, hi] = range!
  if (lo === null) return true
  const first = Math.min(hi, lo + WIDTH)
  let total = await take({ lo, hi: first, join: 'merge' })
  const isDense = total >= (first - lo) * DENSE
  const width = isDense ? WIDTH : Math.max(WIDTH, Math.ceil((hi - first) / SPARSE_PARTS))
  const join: Join = isDense ? 'merge' : 'look up'
  let isCut = total > max
  const pages: Page[] = []
  for (let at = first; at < hi; at += width) pages.push({ lo: at, hi: Math.min(hi, at + width), join })
  await eachConcurrently(pages, CONCURRENT, async (page) => {
    isCut ||= total > max
    if (isCut) return
    const devices = await take(page)
    total += devices
    // The page has more than were read.
    isCut ||= devices > max
  })
  return !isCut
}

/** Audiences whose devices are found by an index of their own, whatever their ids are. */
function isSearched({ audience, groupId }: AudienceScope): boolean {
  return audience.kind === 'all' ? groupId !== undefined : audience.kind !== 'tag'
}

const rangeSql = `SELECT (SELECT d.id FROM device d WHERE d.app_id = $1 ORDER BY d.id LIMIT 1),
  (SELECT d.id FROM device d WHERE d.app_id = $1 ORDER BY d.id DESC LIMIT 1) + 1`

type CountRow = [
  platform: PlanDevice['platform'] | null,
  connection: 'online' | 'away' | null,
  bindings: string | null,
  count: number,
]

const groupSql = `SELECT d.id, d.platform FROM group_member m JOIN device d ON d.app_id = $1 AND d.user_id = m.user_id
  WHERE m.group_id = $2 AND d.enabled AND $3::text IS NULL`

/** Bindings in the order of their registration, the latest first: their times are not needed then, and would make every device a kind of its own. */
async function countPage(
  db: Database,
  scope: AudienceScope,
  max: number,
  page: Page | undefined,
): Promise<CountRow[]> {
  const { audience, groupId } = scope
  const ofGroup = audience.kind === 'all' && groupId !== undefined
  // The range is given for every table; otherwise Postgres reads them whole to join a few thousand rows.
  const within = (id: string) => (page?.join === 'merge' ? `AND ${id} >= $4 AND ${id} < $5` : '')
  const read = (runner: Runner) =>
    run<CountRow>(
      runner,
      `count-${ofGroup ? 'group' : audience.kind}-${page?.join ?? 'all'}-${max}`,
      `SELECT platform, connection, bindings, count(*)::int FROM (
         SELECT d.platform, CASE WHEN n.id IS NULL THEN NULL WHEN p.away THEN 'away' ELSE 'online' END AS connection,
           string_agg(b.channel || ':' || b.environment || ':' || coalesce(b.region, ''), ',' ORDER BY b.registered_at DESC) AS bindings
         FROM (${ofGroup ? groupSql : audienceSql(audience, page !== undefined)} LIMIT ${max + 1}) d
         LEFT JOIN presence p ON p.device_id = d.id ${within('p.device_id')}
         LEFT JOIN gateway_node n ON n.id = p.node AND n.lease_until > now()
         LEFT JOIN binding b ON b.device_id = d.id ${within('b.device_id')}
         GROUP BY d.id, d.platform, n.id, p.away
       ) device GROUP BY platform, connection, bindings`,
      [scope.appId, groupId ?? null, listOf(audience), ...(page ? [page.lo, page.hi] : [])],
    )
  return page?.join === 'merge' ? read(db.pool) : inTransaction(db, read, indexesOnly)
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
        const [channel, environment, region] = part.split(':')
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
