import { eachConcurrently } from '@herald/async'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { afterEach, expect, it } from '@jest/globals'
import { assignBadges, claimBatches } from '../src/tasks/index.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase({ max: 8 })

afterEach(async () => {
  await db.pool.query('TRUNCATE badge, badge_block; DELETE FROM upgrade_window')
})

type Kind = 'add' | 'set'

async function claimed(lists: number[][], kind: Kind, count: number) {
  const batches = lists.map((recipients) => ({
    channel: 'apns' as const,
    certificateId: 1,
    recipients,
    tried: [],
  }))
  const { released } = await acceptPlan(db, 'app', { batches })
  const taken = await claimBatches(
    db.pool,
    { channel: 'apns', certificateIds: [1], batches: released },
    { seconds: 30, worker: `w${Math.random()}` },
  )
  return taken.map((batch) => ({ ...batch, badge: { kind, count } }))
}

async function assigned(lists: number[][], kind: Kind, count: number): Promise<number[][]> {
  return [...(await assignBadges(db.pool, await claimed(lists, kind, count))).values()]
}

async function badgesOf(devices: number[]): Promise<number[]> {
  const { rows } = await db.pool.query<{ badge: number }>(
    'SELECT badge_of(id) AS badge FROM unnest($1::bigint[]) WITH ORDINALITY AS d (id, n) ORDER BY n',
    [devices],
  )
  return rows.map(({ badge }) => badge)
}

const from = (first: number, count: number, step = 1) =>
  Array.from({ length: count }, (_, i) => first + i * step)

it.each([1, 2])('adds the badges of %i batches once, even if called twice', async (count) => {
  const lists = Array.from({ length: count }, (_, i) => [count * 10, count * 10 + i + 1])
  const requests = await claimed(lists, 'add', 3)
  const first = await assignBadges(db.pool, requests)
  // As after a lost reply.
  expect(await assignBadges(db.pool, requests)).toEqual(first)
  expect([...first.values()]).toEqual(lists.map(() => [3 * count, 3]))
})

it('adds once if the same call runs twice at the same time', async () => {
  const requests = await claimed([from(1, 600)], 'add', 1)
  const [first, second] = await Promise.all([
    assignBadges(db.pool, requests),
    assignBadges(db.pool, requests),
  ])
  expect(second).toEqual(first)
  expect(await badgesOf([1, 600])).toEqual([1, 1])
})

it.each([
  ['without a gap, over three blocks', from(200, 400)],
  ['with gaps', from(7, 300, 3)],
  ['alone in its block', [255, 256, 511, 512]],
])('counts devices %s', async (_, devices) => {
  expect(await assigned([devices], 'add', 2)).toEqual([devices.map(() => 2)])
  const odd = devices.filter((__, i) => i % 2 === 1)
  expect(await assigned([odd], 'add', 1)).toEqual([odd.map(() => 3)])
  expect(await badgesOf(devices)).toEqual(devices.map((__, i) => (i % 2 === 1 ? 3 : 2)))
  expect(await badgesOf([devices[0]! - 1, devices.at(-1)! + 1])).toEqual([0, 0])
  expect(await assigned([devices], 'set', 9)).toEqual([devices.map(() => 9)])
})

it('changes four rows for a thousand devices, and their index never', async () => {
  await assigned([from(1, 1023)], 'add', 1)
  const changes = async () => {
    await db.pool.query('SELECT pg_stat_force_next_flush()')
    const { rows } = await db.pool.query<{ updates: number; hot: number }>(
      `SELECT n_tup_upd::int AS updates, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE relname = 'badge_block'`,
    )
    return rows[0]!
  }
  // One connection, so that its counts are visible to the next statement.
  const client = await db.pool.connect()
  try {
    const request = await claimed([from(1, 1023)], 'add', 1)
    await client.query('SELECT pg_stat_force_next_flush()')
    await client.query('SELECT 1')
    const before = await changes()
    await assignBadges(client, request)
    await client.query('SELECT pg_stat_force_next_flush()')
    await client.query('SELECT 1')
    const after = await changes()
    expect(after.updates - before.updates).toBe(4)
    expect(after.hot - before.hot).toBe(4)
  } finally {
    client.release()
  }
})

it.each([
  ['whole blocks', from(256, 512)],
  ['parts of blocks', from(200, 400)],
  ['the first and the last of a block', [0, 255, 256, 511, 512]],
  ['one', [255]],
  ['blocks with gaps and without', [...from(10, 20), 300, 302, 303, ...from(512, 256), 5000]],
  ['few in many blocks', from(7, 40, 100)],
])('adds to %s', async (_, devices) => {
  const before = devices.filter((_, i) => i % 3 === 0)
  await assigned([before], 'set', 40)
  const expected = devices.map((_, i) => (i % 3 === 0 ? 42 : 2))
  expect(await assigned([devices], 'add', 2)).toEqual([expected])
  expect(await badgesOf(devices)).toEqual(expected)
  const { rows } = await db.pool.query<{ sum: number }>(
    'SELECT sum(n)::int AS sum FROM badge_block, unnest(counts) n',
  )
  expect(rows[0]!.sum).toBe(expected.reduce((sum, n) => sum + n, 0))
})

it('refuses devices that are not ascending', async () => {
  for (const devices of ['{300,10}', '{10,300,20}']) {
    const call = db.pool.query(`SELECT show_badges($1, '{1,1,1}', true)`, [devices])
    await expect(call).rejects.toThrow('not ascending')
  }
})

it('does not exceed the largest badge', async () => {
  expect(await assigned([[1, 2, 4]], 'set', 999_999_998)).toEqual([[999_999_998, 999_999_998, 999_999_998]])
  expect(await assigned([[1, 2, 4]], 'add', 999_999_999)).toEqual([[999_999_999, 999_999_999, 999_999_999]])
  expect(await assigned([[1]], 'add', 1)).toEqual([[999_999_999]])
})

it('loses no count when broadcasts overlap', async () => {
  const devices = from(1, 800)
  const tagged = from(1, 100, 7)
  const work = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? devices : tagged))
  await eachConcurrently(work, 6, async (list) => {
    await assigned([list], 'add', 1)
  })
  expect(await badgesOf(devices)).toEqual(devices.map((id) => (tagged.includes(id) ? 12 : 6)))
})

it('clears badges, and writes nothing where they are 0', async () => {
  await assigned([from(1, 300)], 'add', 5)
  await db.pool.query('SELECT clear_badges($1)', [[300, 2, 900]])
  expect(await badgesOf([1, 2, 3, 300, 900])).toEqual([5, 0, 5, 0, 0])
  const versions = async () =>
    (await db.pool.query('SELECT block, xmin::text FROM badge_block ORDER BY block')).rows
  const before = await versions()
  await db.pool.query('SELECT clear_badges($1)', [[300, 2, 900]])
  expect(await versions()).toEqual(before)
})

it('takes over the badges of the previous release', async () => {
  await db.pool.query('INSERT INTO badge (device_id, value) VALUES (1, 4), (2, 5), (255, 6), (256, 7)')
  expect(await badgesOf([1, 256])).toEqual([4, 7])
  expect(await assigned([[1, 2]], 'add', 1)).toEqual([[5, 6]])
  expect(await badgesOf([1, 2, 255, 256])).toEqual([5, 6, 6, 7])
  // Those of the other block are still there, and can be cleared.
  expect((await db.pool.query('SELECT device_id, value FROM badge')).rows).toEqual([
    { device_id: 256, value: 7 },
  ])
  await db.pool.query('SELECT clear_badges($1)', [[255, 256]])
  expect(await badgesOf([255, 256])).toEqual([0, 0])
})

it('uses the rows of the previous release while its programs may run', async () => {
  await db.pool.query(
    `INSERT INTO upgrade_window (name, until) VALUES ('badge-rows', now() + interval '1 hour')`,
  )
  expect(await assigned([[1, 2, 300]], 'add', 2)).toEqual([[2, 2, 2]])
  // As such a program does.
  await db.pool.query('UPDATE badge SET value = value + 1 WHERE device_id = 2')
  expect(await assigned([[1, 2]], 'add', 1)).toEqual([[3, 4]])
  await db.pool.query('SELECT clear_badges($1)', [[1]])
  expect((await db.pool.query('SELECT 1 FROM badge_block')).rowCount).toBe(0)
  await db.pool.query('UPDATE upgrade_window SET until = now()')
  expect(await assigned([[1, 2, 300]], 'add', 1)).toEqual([[1, 5, 3]])
})
