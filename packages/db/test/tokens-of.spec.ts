import { beforeAll, expect, it } from '@jest/globals'
import { tokensOf } from '../src/tasks/index.ts'
import { addApplication, useDatabase } from './setup.ts'

const db = useDatabase({ max: 2 })
let appId: string
beforeAll(async () => {
  appId = await addApplication(db)
})

type Given = { channel?: string; platform?: string; environment?: number; bundle?: string; region?: string }

/** Device and binding are an hour old. */
async function addDevice(guid: string, given: Given = {}) {
  const { channel = 'huawei', platform = null, environment = 1, bundle = null, region = null } = given
  const { rows } = await db.pool.query<{ id: number }>(
    `WITH made AS (
       INSERT INTO device (app_id, guid, push_token, platform, moved_at)
       VALUES ($1, $2, $2, $3, now() - interval '1 hour') RETURNING id
     ), bound AS (
       INSERT INTO binding (device_id, channel, app_id, token, environment, bundle_id, region, device_changed_at)
       SELECT id, $5, $1, 'token-' || $2::text, $4, $6, $7, now() - interval '1 hour' FROM made
     ) SELECT id FROM made`,
    [appId, guid, platform, environment, channel, bundle, region],
  )
  return rows[0]!.id
}

async function found(channel: 'huawei' | 'fcm' | 'honor', recipients: number[], since: number) {
  const { tokens, detailsOf } = await tokensOf(db.pool, channel, recipients, since)
  return tokens.map((token, position) => token && { token, ...detailsOf(position) })
}

const since = () => Date.now() - 600_000
const usual = { environment: 1, disabled: false, harmony: false, ios: false }

it('returns the current tokens, which devices run HarmonyOS, which are disabled and which changed their user', async () => {
  const android = await addDevice('android', { platform: 'android', environment: 0, bundle: 'com.example' })
  const harmony = await addDevice('harmony', { platform: 'harmony' })
  const moved = await addDevice('moved')
  const both = await addDevice('both', { platform: 'harmony', region: 'de' })
  const bare = await addDevice('bare', { platform: 'harmony' })
  const disabled = await addDevice('disabled', { platform: 'android' })
  await db.pool.query('UPDATE device SET moved_at = clock_timestamp() WHERE id = ANY($1)', [[moved, both]])
  await db.pool.query('DELETE FROM binding WHERE device_id = $1', [bare])
  await db.pool.query('UPDATE device SET enabled = false WHERE id = $1', [disabled])

  const movedAt = expect.any(Number)
  expect(await found('huawei', [both, android, moved, harmony, bare, disabled], since())).toEqual([
    { token: 'token-both', ...usual, region: 'de', harmony: true, movedAt },
    { token: 'token-android', ...usual, environment: 0, bundleId: 'com.example' },
    { token: 'token-moved', ...usual, movedAt },
    { token: 'token-harmony', ...usual, harmony: true },
    undefined,
    { token: 'token-disabled', ...usual, disabled: true },
  ])
  const iphone = await addDevice('iphone', { channel: 'fcm', platform: 'ios' })
  expect(await found('fcm', [android, iphone], since())).toEqual([
    undefined,
    { token: 'token-iphone', ...usual, ios: true },
  ])
  expect(await found('huawei', [], since())).toEqual([])
})

it('returns tokens in the order of recipients, also if one is named twice', async () => {
  const ids: number[] = []
  for (const name of ['a', 'b', 'c']) ids.push(await addDevice(name, { channel: 'fcm' }))
  const [a, b, c] = ids as [number, number, number]
  const namesOf = async (list: number[]) => (await tokensOf(db.pool, 'fcm', list, since())).tokens
  expect(await namesOf([a, b, c])).toEqual(['token-a', 'token-b', 'token-c'])
  expect(await namesOf([c, a, b])).toEqual(['token-c', 'token-a', 'token-b'])
  expect(await namesOf([a, c, a])).toEqual(['token-a', 'token-c', 'token-a'])
  expect(await namesOf([a, c + 1000, c])).toEqual(['token-a', undefined, 'token-c'])
})

it('reads the ids again only if the tokens alone do not tell whose they are', async () => {
  const ids: number[] = []
  for (const name of ['d', 'e', 'f']) ids.push(await addDevice(name, { channel: 'fcm' }))
  const [d, e, f] = ids as [number, number, number]
  let read: unknown
  const runner = {
    async query(config: unknown) {
      const result = (await db.pool.query(config as never)) as { rows: unknown[][] }
      read = result.rows[0]![1]
      return result
    },
  }
  const idsRead = async (list: number[]) => {
    await tokensOf(runner as never, 'fcm', list, since())
    return read
  }
  expect(await idsRead([d, e, f])).toBeNull()
  expect(await idsRead([d, e])).toBeNull()
  expect(await idsRead([e, d])).toBe(`${d}\x1f${e}`)
  expect(await idsRead([d, f + 1000])).toBe(`${d}`)
  expect(await idsRead([d, d])).toBe(`${d}`)
})

/** How many devices the statement looks up. */
async function devicesRead(recipients: number[]): Promise<number> {
  let read = 0
  const runner = {
    async query(config: { text: string; values: unknown[] }) {
      const { rows } = await db.pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `EXPLAIN (ANALYZE, FORMAT json) ${config.text}`,
        config.values,
      )
      read = lookUpsOf(rows[0]!['QUERY PLAN'][0].Plan, 'device')
      return db.pool.query(config as never)
    },
  }
  await tokensOf(runner as never, 'honor', recipients, since())
  return read
}

type PlanNode = {
  'Relation Name'?: string
  'Actual Loops': number
  Plans?: PlanNode[]
}

function lookUpsOf(node: PlanNode, table: string): number {
  const own = node['Relation Name'] === table ? node['Actual Loops'] : 0
  return own + (node.Plans ?? []).reduce((sum, child) => sum + lookUpsOf(child, table), 0)
}

it('reads no row of a device, unless the device or its binding has changed', async () => {
  const devices: number[] = []
  for (const name of ['one', 'two', 'three']) devices.push(await addDevice(name, { channel: 'honor' }))
  expect(await devicesRead(devices)).toBe(0)
  // Neither concerns a message that is already planned.
  await db.pool.query(`UPDATE device SET last_seen = now(), alias = 'x' WHERE id = ANY($1)`, [devices])
  expect(await devicesRead(devices)).toBe(0)
  await db.pool.query('UPDATE device SET enabled = false WHERE id = $1', [devices[1]])
  expect(await devicesRead(devices)).toBe(1)
})

it('finds a device that was disabled or moved before its binding was replaced', async () => {
  const device = await addDevice('replaced', { channel: 'honor' })
  await db.pool.query('UPDATE device SET moved_at = clock_timestamp(), enabled = false WHERE id = $1', [
    device,
  ])
  await db.pool.query('DELETE FROM binding WHERE device_id = $1', [device])
  await db.pool.query(
    `INSERT INTO binding (device_id, channel, app_id, token, registered_at) VALUES ($1, 'honor', $2, 'again', now() - interval '1 day')`,
    [device, appId],
  )
  expect(await found('honor', [device], since())).toEqual([
    { token: 'again', ...usual, disabled: true, movedAt: expect.any(Number) },
  ])
})

it('after the clock was set back sends to a device that was created before, but not to one that got another user', async () => {
  const [created, moved] = [
    await addDevice('created', { channel: 'honor' }),
    await addDevice('moved-ahead', { channel: 'honor' }),
  ]
  await db.pool.query(`UPDATE device SET moved_at = now() + interval '1 hour' WHERE id = ANY($1)`, [
    [created, moved],
  ])
  await db.pool.query('UPDATE device SET created_at = moved_at WHERE id = $1', [created])
  expect(await found('honor', [created, moved], since())).toEqual([
    { token: 'token-created', ...usual },
    { token: 'token-moved-ahead', ...usual, movedAt: expect.any(Number) },
  ])
})
