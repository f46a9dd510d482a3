import {
  type Audience,
  type Channel,
  type NewTask,
  publicName,
  type SequenceWord,
  type VendorChannel,
} from '@herald/domain'
import { countRoutes } from '@herald/plan'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type DeviceSeed, type Harness, plainMessage, startHarness } from './harness.ts'

/** A linear congruential generator: each seed gives the same devices and audiences in every run. */
function randomNumbers(seed: number) {
  let state = seed
  const below = (max: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * max)
  }
  return {
    below,
    pick: <T>(from: readonly T[]): T => from[below(from.length)]!,
    some: <T>(from: readonly T[], share: number): T[] => from.filter(() => below(100) < share),
  }
}
type Random = ReturnType<typeof randomNumbers>

const vendors: VendorChannel[] = ['apns', 'fcm', 'huawei', 'xiaomi', 'oppo', 'vivo', 'meizu', 'honor']
const names = ['a', 'b', 'c', 'none']
/** More than are planned when the push is accepted. */
const DEVICES = 1500

describe('the count of an audience', () => {
  let harness: Harness
  let app: string
  let groupId: number
  beforeAll(async () => {
    harness = await startHarness()
    await harness.startPlanner()
    app = await harness.addApplication('counted')
    const random = randomNumbers(7)
    const ids = await harness.addDevices(
      app,
      Array.from({ length: DEVICES }, (_, i) => seedOf(random, i)),
    )
    const { pool } = harness.db
    await pool.query('UPDATE device SET enabled = false WHERE id = ANY($1) AND id % 11 = 0', [ids])
    await pool.query(
      `UPDATE binding SET environment = 2 WHERE device_id = ANY($1) AND device_id % 13 = 0 AND channel = 'apns'`,
      [ids],
    )
    await pool.query(
      `UPDATE binding SET registered_at = now() - (device_id * 7 + length(channel) * 3) % 11 * interval '1 minute'`,
    )
    await pool.query(
      `INSERT INTO activity (device_id, kind, name, app_id, token)
       SELECT id, 'activity', name, $2, name || id FROM unnest($1::bigint[]) id, unnest('{a,b}'::text[]) name WHERE id % 3 = 0 OR name = 'b' AND id % 4 = 0`,
      [ids, app],
    )
    await pool.query(
      `INSERT INTO gateway_node (id, lease_until) VALUES ('up', now() + interval '1 day'), ('down', now() - interval '1 day')`,
    )
    await pool.query(
      `INSERT INTO presence (device_id, node, connection, away)
       SELECT id, CASE WHEN id % 10 = 0 THEN 'down' ELSE 'up' END, id, id % 4 = 0 FROM unnest($1::bigint[]) id WHERE id % 5 < 2`,
      [ids],
    )
    const { rows } = await pool.query<{ id: number }>(
      `INSERT INTO user_group (app_id, name) VALUES ($1, 'g') RETURNING id`,
      [app],
    )
    groupId = Number(rows[0]!.id)
    await pool.query(
      `INSERT INTO app_user (id, app_id, username) SELECT n, $1, 'u' || n FROM generate_series(0, 39) n`,
      [app],
    )
    await pool.query(
      'INSERT INTO group_member (group_id, user_id) SELECT $1, n FROM generate_series(0, 19) n',
      [groupId],
    )
    // A device with this binding only is unreachable, or gets the message in its inbox.
    await pool.query(`DELETE FROM certificate WHERE app_id = $1 AND channel = 'vivo'`, [app])
  })
  afterAll(() => harness.stop())

  const seedOf = (random: Random, i: number): DeviceSeed => ({
    platform: random.pick(['android', 'android', 'ios']),
    tokens: Object.fromEntries(
      random.some(vendors, 25).map((channel) => [channel, `${channel}${i}:accepted`]),
    ),
    tag: random.pick([undefined, 'a', 'b', 'c']),
    alias: random.pick([undefined, 'a', 'b', 'c']),
    userId: random.below(40),
  })

  const audienceOf = (random: Random, tokens: readonly string[]): Audience => {
    const some = [random.pick(names), ...random.some(names, 40)]
    return random.pick<() => Audience>([
      () => ({ kind: 'all' }),
      () => ({ kind: 'tag', tags: some }),
      () => ({ kind: 'alias', aliases: some }),
      () => ({ kind: 'user_id', userIds: random.some([...Array(45).keys()], 20).map(BigInt) }),
      () => ({ kind: 'activity', activities: some }),
      () => ({ kind: 'push_token', pushTokens: random.some(tokens, 30) }),
    ])()
  }

  it('is what the planning of a push to it produces', async () => {
    const tokens = Array.from({ length: 20 }, (_, i) => `counted-token-${i}`)
    await harness.db.pool.query(
      `UPDATE device SET push_token = NULL, push_token_hash = push_token_hash('counted-token-' || n)
       FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM device WHERE app_id = $1 LIMIT 20) d WHERE device.id = d.id`,
      [app],
    )
    const kinds = new Set<string>()
    const random = randomNumbers(42)
    for (let i = 0; i < 40; i++) {
      const wanted: Partial<NewTask> = {
        audience: audienceOf(random, tokens),
        groupId: random.below(3) === 0 ? groupId : undefined,
        strategy: random.pick(['combined', 'ospush_only', 'nativepush_only']),
        sequence: random.pick<SequenceWord[]>([
          ['ups', 'fcm'],
          ['fcm', 'xiaomi', 'ups'],
          ['xiaomi'],
          ['fcm', 'ups'],
        ]),
        ttl: random.pick([0, 600]),
        message: { ...plainMessage, ...random.pick([{}, { type: 'cmd' as const, ext: '{"a":1}' }]) },
      }
      kinds.add(wanted.audience!.kind)
      const { byChannel, unreachable, devices, exact } = await countRoutes(harness, {
        ...(wanted as NewTask),
        appId: app,
      })
      const id = await harness.notify(app, wanted)
      const planned = await plannedOf(id)
      expect([i, wanted.audience, { byChannel, unreachable }]).toEqual([i, wanted.audience, planned])
      expect(exact).toBe(true)
      const reached = Object.values(byChannel).reduce((sum, count) => sum + count, 0)
      expect(devices).toBe(reached + unreachable)
    }
    expect(kinds.size).toBe(6)
  })

  async function plannedOf(id: number) {
    await until(async () => !['accepted', 'planning'].includes(await harness.stateOf(id)), {
      what: 'the plan',
    })
    const counters: [string, { target?: number }][] = Object.entries(await harness.counters(id))
    const { rows } = await harness.db.pool.query('SELECT unreachable FROM task WHERE id = $1', [id])
    return {
      byChannel: Object.fromEntries(
        counters.flatMap(([channel, { target }]) =>
          target ? [[publicName(channel as Channel), target]] : [],
        ),
      ),
      unreachable: rows[0].unreachable,
    }
  }
})
