import type { Audience } from '@herald/domain'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { countAudience } from '../src/tasks/index.ts'
import { blocksRead } from './blocks-read.ts'
import { addApplication, useDatabase } from './setup.ts'

const db = useDatabase()
let appId: string

/** Ids are set, so that the devices lie on several pages. */
async function addDevices(app: string, from: number, count: number, enabled = true): Promise<void> {
  await db.pool.query(
    `INSERT INTO device (id, app_id, guid, push_token, alias, user_id, platform, enabled)
     SELECT $2::bigint + n, $1, 'g' || $2 || '-' || n, $1 || $2 || '-' || n, 'alias', 7, 'android', $4 FROM generate_series(1, $3::int) n`,
    [app, from, count, enabled],
  )
}

beforeAll(async () => {
  appId = await addApplication(db)
  await addDevices(appId, 1_000, 6)
  await addDevices(appId, 90_000, 3)
  await addDevices(appId, 3_000_000, 2)
  await addDevices(appId, 3_000_100, 4, false)
  await addDevices(await addApplication(db), 95_000, 5)
  await db.pool.query(
    `INSERT INTO binding (device_id, channel, app_id, token, environment, region, registered_at)
     SELECT id, 'xiaomi', $1, 'x' || id, 1, CASE WHEN id > 1000000 THEN 'global' END, now() - interval '1 hour' FROM device
       WHERE app_id = $1 AND enabled
     UNION ALL SELECT id, 'fcm', $1, 'f' || id, 1, NULL, now() FROM device WHERE app_id = $1 AND id IN (1001, 90001)
     UNION ALL SELECT id, 'fcm', $1, 'f' || id, 1, NULL, now() - interval '2 hours' FROM device WHERE app_id = $1 AND id = 1002`,
    [appId],
  )
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO tag (app_id, name) VALUES ($1, 'a'), ($1, 'b') RETURNING id`,
    [appId],
  )
  await db.pool.query(
    `INSERT INTO device_tag (tag_id, device_id) SELECT t, d FROM unnest($1::int[]) t, unnest('{1001,1002,3000001,3000101}'::bigint[]) d`,
    [rows.map(({ id }) => id)],
  )
})

const count = (audience: Audience, max = 100, groupId?: number) =>
  countAudience(db, { appId, groupId, audience }, max)
const totalOf = async (audience: Audience, max?: number) =>
  (await count(audience, max)).kinds.reduce((sum, kind) => sum + kind.count, 0)

describe('countAudience', () => {
  it('counts devices over all pages by what determines their route', async () => {
    const { kinds, exact } = await count({ kind: 'all' })
    expect(exact).toBe(true)
    const shown = kinds.map(({ device, count }) => [
      device.bindings.map(({ channel, region }) => `${channel}${region ? `/${region}` : ''}`).join(' '),
      count,
    ])
    expect(shown.sort()).toEqual([
      ['fcm xiaomi', 2],
      ['xiaomi fcm', 1],
      ['xiaomi', 6],
      ['xiaomi/global', 2],
    ])
    for (const { device } of kinds) {
      const times = device.bindings.map(({ registeredAt }) => registeredAt)
      expect(times).toEqual([...times].sort((a, b) => b - a))
    }
  })

  it('counts a device with several of the tags once, and no disabled one', async () => {
    expect(await totalOf({ kind: 'tag', tags: ['a', 'b'] })).toBe(3)
    expect(await totalOf({ kind: 'tag', tags: ['none'] })).toBe(0)
  })

  it.each<Audience>([
    { kind: 'alias', aliases: ['alias', 'alias'] },
    { kind: 'user_id', userIds: [7n] },
  ])('counts an audience that an index finds: %j', async (audience) => {
    expect(await totalOf(audience)).toBe(11)
  })

  it('stops after the maximum and says so', async () => {
    for (const audience of [{ kind: 'all' }, { kind: 'alias', aliases: ['alias'] }] as Audience[]) {
      expect(await count(audience, 11)).toMatchObject({ exact: true })
      const { kinds, exact } = await count(audience, 4)
      expect(exact).toBe(false)
      expect(kinds.reduce((sum, kind) => sum + kind.count, 0)).toBe(5)
    }
    // The maximum is reached after the second page.
    expect((await count({ kind: 'all' }, 8)).exact).toBe(false)
  })

  it('counts the members of a group only', async () => {
    const group = await db.pool.query<{ id: number }>(
      `INSERT INTO user_group (app_id, name) VALUES ($1, 'g') RETURNING id`,
      [appId],
    )
    const groupId = Number(group.rows[0]!.id)
    expect((await count({ kind: 'all' }, 100, groupId)).kinds).toEqual([])
    await db.pool.query(`INSERT INTO app_user (id, app_id, username) VALUES (7, $1, 'member')`, [appId])
    await db.pool.query('INSERT INTO group_member (group_id, user_id) VALUES ($1, 7)', [groupId])
    // A device of somebody else.
    await addDevices(appId, 7_000_000, 1)
    await db.pool.query('UPDATE device SET user_id = 8 WHERE id = 7000001')
    await db.pool.query(
      `INSERT INTO activity (device_id, kind, name, app_id, token)
       SELECT id, 'activity', 'game', app_id, 'a' || id FROM device WHERE id IN (1001, 90001, 7000001)`,
    )
    const hashes = (
      await db.pool.query(
        'SELECT push_token_hash(push_token) AS hash FROM device WHERE id IN (1002, 3000001, 7000001)',
      )
    ).rows.map(({ hash }) => hash)
    const audiences: [Audience, devices: number][] = [
      [{ kind: 'all' }, 11],
      [{ kind: 'alias', aliases: ['alias'] }, 11],
      [{ kind: 'user_id', userIds: [7n, 8n] }, 11],
      [{ kind: 'push_token_hash', hashes }, 2],
      [{ kind: 'activity', activities: ['game'] }, 2],
    ]
    for (const [audience, devices] of audiences) {
      const { kinds } = await count(audience, 100, groupId)
      const counted = kinds.reduce((sum, kind) => sum + kind.count, 0)
      expect([audience.kind, counted]).toEqual([audience.kind, devices])
    }
    await db.pool.query('DELETE FROM device WHERE id = 7000001')
  })

  it('knows which devices are connected, and whose app is away', async () => {
    const other = await addApplication(db)
    await addDevices(other, 5_000_000, 3)
    await db.pool.query(`INSERT INTO gateway_node (id, lease_until) VALUES ('n1', now() + interval '1 hour')`)
    await db.pool.query(
      `INSERT INTO presence (device_id, node, connection, away)
       VALUES (5000001, 'n1', 1, false), (5000002, 'n1', 2, true), (5000003, 'gone', 3, false)`,
    )
    const { kinds } = await countAudience(db, { appId: other, audience: { kind: 'all' } }, 100)
    expect(kinds.map(({ device }) => [device.node !== undefined, device.away === true]).sort()).toEqual([
      [false, false],
      [false, true],
      [true, false],
    ])
  })

  it('goes on when the first ids are those of disabled devices', async () => {
    const other = await addApplication(db)
    await addDevices(other, 6_000_000, 6, false)
    await addDevices(other, 6_000_100, 3)
    for (const max of [1, 2, 3, 100]) {
      const { kinds, exact } = await countAudience(db, { appId: other, audience: { kind: 'all' } }, max)
      expect([max, kinds[0]!.count, exact]).toEqual([max, Math.min(3, max + 1), max >= 3])
    }
  })

  it('reads few blocks, however large the application is', async () => {
    const large = await addApplication(db)
    await db.pool.query(
      `INSERT INTO device (id, app_id, guid, push_token, alias, user_id, platform)
       SELECT 10000000 + n, $1, 'l' || n, 'l' || n, 'l' || n, n, 'android' FROM generate_series(1, 60000) n`,
      [large],
    )
    await db.pool.query(
      `INSERT INTO binding (device_id, channel, app_id, token) SELECT id, 'xiaomi', app_id, 'l' || id FROM device WHERE app_id = $1`,
      [large],
    )
    await db.pool.query(
      `INSERT INTO presence (device_id, node, connection) SELECT id, 'n1', id FROM device WHERE app_id = $1`,
      [large],
    )
    await db.pool.query(
      `INSERT INTO activity (device_id, kind, name, app_id, token)
       SELECT id, 'activity', 'rare' || id % 6000, app_id, 'l' || id FROM device WHERE app_id = $1`,
      [large],
    )
    await db.pool.query(`INSERT INTO tag (app_id, name) VALUES ($1, 'every'), ($1, 'rare')`, [large])
    await db.pool.query(
      `INSERT INTO device_tag (tag_id, device_id) SELECT t.id, d.id FROM tag t JOIN device d ON d.app_id = t.app_id
       WHERE t.app_id = $1 AND (t.name = 'every' OR d.id % 6000 = 1)`,
      [large],
    )
    const hashes = (
      await db.pool.query(
        'SELECT push_token_hash(push_token) AS hash FROM device WHERE app_id = $1 LIMIT 10',
        [large],
      )
    ).rows.map(({ hash }) => hash)
    const ten = Array.from({ length: 10 }, (_, i) => i * 6000 + 1)
    const audiences: [Audience, devices: number][] = [
      [{ kind: 'all' }, 101],
      [{ kind: 'tag', tags: ['every'] }, 101],
      [{ kind: 'tag', tags: ['every', 'rare'] }, 101],
      [{ kind: 'tag', tags: ['rare'] }, 10],
      [{ kind: 'alias', aliases: ten.map((n) => `l${n}`) }, 10],
      [{ kind: 'user_id', userIds: ten.map(BigInt) }, 10],
      [{ kind: 'push_token_hash', hashes }, 10],
      [{ kind: 'activity', activities: ['rare7'] }, 10],
    ]
    await db.pool.query(
      `WITH made AS (INSERT INTO user_group (app_id, name) VALUES ($1, 'ten') RETURNING id), users AS (
         INSERT INTO app_user (id, app_id, username) SELECT n, $1, 'u' || n FROM unnest($2::bigint[]) n RETURNING id
       ) INSERT INTO group_member (group_id, user_id) SELECT made.id, users.id FROM made, users`,
      [large, ten],
    )
    const { rows: groups } = await db.pool.query<{ id: number }>(
      `SELECT id FROM user_group WHERE app_id = $1`,
      [large],
    )
    const scopes = [
      ...audiences.map(([audience, devices]) => ({ audience, devices, groupId: undefined })),
      ...audiences.map(([audience]) => ({ audience, devices: undefined, groupId: groups[0]!.id })),
    ]
    // Without statistics first: a plan is kept until the next ANALYZE.
    for (const analyzed of [false, true]) {
      if (analyzed) await db.pool.query('ANALYZE')
      for (const { audience, devices, groupId } of scopes) {
        const blocks = await blocksRead(db, async (on) => {
          const { kinds } = await countAudience(on, { appId: large, audience, groupId }, 100)
          const counted = kinds.reduce((sum, kind) => sum + kind.count, 0)
          if (groupId === undefined) expect([audience, counted]).toEqual([audience, devices])
          else expect(counted).toBeLessThanOrEqual(10)
        })
        const read = Object.values(blocks).reduce((sum, one) => sum + one, 0)
        const shown = [audience, groupId, analyzed]
        expect([...shown, read < 600 ? 'few' : blocks]).toEqual([...shown, 'few'])
      }
    }
  })
})
