import { describe, expect, it } from '@jest/globals'
import type { DeviceChange } from '../src/devices/device-changes.ts'
import { openDeviceWriter } from '../src/devices/device-writer.ts'
import { createPushTokens } from '../src/devices/push-tokens.ts'
import { useDatabase } from './setup.ts'

// One connection, so that each statement keeps the plan of its first execution.
const db = useDatabase({ max: 1 })
const writer = openDeviceWriter(db, createPushTokens(Buffer.alloc(32)), 'app', { showTokens: true })

const devices = (from: number, appVersion: string): DeviceChange[] =>
  Array.from({ length: 100 }, (_, i) => ({
    guid: `guid-${from + i}`,
    alias: `person-${from + i}`,
    appVersion,
    addTags: ['all'],
    bindings: [{ channel: 'xiaomi', token: `token-${from + i}`, environment: 1 }],
  }))

async function rowsRead(): Promise<number> {
  await db.pool.query('SELECT pg_stat_force_next_flush()')
  const { rows } = await db.pool.query<{ count: number }>(
    `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname IN ('device', 'binding', 'device_tag'))::bigint
       + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname IN ('device', 'binding', 'device_tag'))::bigint AS count`,
  )
  return rows[0]!.count
}

const outcomes = async (changes: DeviceChange[]) => [
  ...new Set(
    (await writer.write(changes)).map((result) => ('outcome' in result ? result.outcome : result.refused)),
  ),
]

describe('writing devices', () => {
  it('reads only rows of these devices, also with plans that were made for empty tables', async () => {
    for (const table of ['device', 'binding', 'device_tag']) {
      await db.pool.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`)
      await db.pool.query(`VACUUM ANALYZE ${table}`)
    }
    expect(await outcomes(devices(0, '1'))).toEqual(['created'])
    expect(await outcomes(devices(0, '2'))).toEqual(['updated'])
    await db.pool.query(
      `WITH added AS (
         INSERT INTO device (app_id, guid, push_token_hash)
         SELECT 'app', 'other-' || n, push_token_hash('other-' || n) FROM generate_series(1, 20000) n RETURNING id
       ), bound AS (
         INSERT INTO binding (device_id, channel, app_id, token) SELECT id, 'xiaomi', 'app', 'other-' || id FROM added
       )
       INSERT INTO device_tag (tag_id, device_id) SELECT tag.id, added.id FROM added, tag`,
    )
    const before = await rowsRead()
    expect(await outcomes(devices(0, '3'))).toEqual(['updated'])
    expect(await outcomes(devices(0, '3'))).toEqual(['unchanged'])
    expect(await outcomes(devices(1000, '1'))).toEqual(['created'])
    // Tokens that other devices have.
    const moved = devices(2000, '1').map((change, i) => ({
      ...change,
      bindings: devices(0, '1')[i]!.bindings,
    }))
    expect(await outcomes(moved)).toEqual(['created'])
    expect((await rowsRead()) - before).toBeLessThan(10_000)
  })

  it('neither locks nor writes a binding that is as given', async () => {
    const changes = devices(5000, '1')
    await writer.write(changes)
    const versions = async () =>
      (
        await db.pool.query<{ versions: string }>(
          `SELECT string_agg(b.xmin || '/' || b.xmax, ',' ORDER BY b.device_id) AS versions
           FROM binding b JOIN device d ON d.id = b.device_id WHERE d.alias LIKE 'person-50%'`,
        )
      ).rows[0]!.versions
    const before = await versions()
    expect(await outcomes(devices(5000, '2'))).toEqual(['updated'])
    expect(await versions()).toBe(before)
  })
})

describe('inserting devices', () => {
  const tokens = createPushTokens(Buffer.alloc(32))
  const odd = 'a\\b"\'{},\\N \u{1f600} \\. 设备'
  const changes = (): DeviceChange[] => [
    { guid: `second ${odd}`, platform: 'ios', bindings: [] },
    {
      guid: `first ${odd}`,
      alias: odd,
      locale: 'zh-CN',
      timezone: 'Asia/Shanghai',
      appVersion: odd,
      attributes: JSON.stringify({ plan: odd, age: 7 }),
      enabled: false,
      tags: ['all', odd, 'all'],
      bindings: [
        { channel: 'apns', token: 'ab'.repeat(32), environment: 0, bundleId: 'com.example' },
        { channel: 'huawei', token: odd, environment: 1, region: 'intl' },
        { channel: 'xiaomi', token: null, environment: 1 },
      ],
    },
    { guid: 'third', alias: '', addTags: ['kept'], removeTags: ['all'], bindings: null },
  ]

  async function stored(appId: string) {
    const { rows } = await db.pool.query(
      `SELECT d.guid, d.platform, d.alias, d.locale, d.timezone, d.app_version, d.attributes, d.enabled, d.user_id,
         d.push_token, length(d.push_token_hash) AS hash,
         ARRAY(SELECT name FROM device_tag t JOIN tag ON tag.id = t.tag_id WHERE t.device_id = d.id ORDER BY name) AS tags,
         ARRAY(SELECT jsonb_build_array(channel, app_id = d.app_id, token, environment, bundle_id, region) FROM binding b
           WHERE b.device_id = d.id ORDER BY channel) AS bindings
       FROM device d WHERE app_id = $1 ORDER BY guid COLLATE "C"`,
      [appId],
    )
    return rows
  }

  const never = () => {
    throw new Error('the changes were read again')
  }

  it('stores what writing them stores', async () => {
    await openDeviceWriter(db, tokens, 'written').write(changes())
    const results = await openDeviceWriter(db, tokens, 'inserted', { expectNew: true }).insert(
      changes(),
      never,
    )
    expect(results).toEqual(changes().map(() => ({ outcome: 'created', pushToken: '' })))
    const rows = await stored('inserted')
    expect(rows).toHaveLength(3)
    expect(rows).toEqual(await stored('written'))
    const { rows: devices } = await db.pool.query(`SELECT * FROM device WHERE app_id = 'inserted'`)
    for (const device of devices) expect(tokens.tokenOf(device)).toMatch(/^[\w-]{30}$/)
  })

  it('writes the changes again if a device or a token is known', async () => {
    const open = () => openDeviceWriter(db, tokens, 'known', { expectNew: true })
    const { insert } = open()
    const of = (guid: string, token: string): DeviceChange => ({
      guid,
      bindings: [{ channel: 'huawei', token, environment: 1 }],
    })
    await insert([of('a', 'token-a')], never)
    const outcomes = async (given: DeviceChange[], into = open()) =>
      (await into.insert(given, () => given)).map((result) => 'outcome' in result && result.outcome)
    expect(await outcomes([of('b', 'token-b'), of('a', 'token-a')])).toEqual(['created', 'unchanged'])
    expect(await outcomes([of('c', 'token-a'), of('d', 'token-d')])).toEqual(['created', 'created'])
    // The second of two changes of a device or with one token is written later.
    expect(await outcomes([of('e', 'one'), of('f', 'one'), of('e', 'two')])).toEqual([
      'created',
      'created',
      'updated',
    ])
    const bound = (await stored('known')).map(({ guid, bindings }) => [
      guid,
      bindings.map((binding: string[]) => binding[2]),
    ])
    expect(bound).toEqual([
      ['a', []],
      ['b', ['token-b']],
      ['c', ['token-a']],
      ['d', ['token-d']],
      ['e', ['two']],
      ['f', ['one']],
    ])
  })

  it('refuses unknown users, and inserts devices of known ones', async () => {
    const { insert } = openDeviceWriter(db, tokens, 'users', { expectNew: true })
    const given: DeviceChange[] = [{ guid: 'a', userId: '12345' }, { guid: 'b', userId: null }, { guid: 'c' }]
    const results = await insert(given, () => given)
    expect(results[0]).toEqual({ refused: 'unknown user' })
    expect(results.slice(1).every((result) => 'outcome' in result)).toBe(true)
    expect((await stored('users')).map(({ guid }) => guid)).toEqual(['b', 'c'])
  })

  it('stores tokens in clear text too while programs of the previous release may run', async () => {
    const { insert } = openDeviceWriter(db, tokens, 'clear', { expectNew: true })
    await insert([{ guid: 'before' }], never)
    await db.pool.query(
      `INSERT INTO upgrade_window (name, until) VALUES ('clear-tokens', now() + interval '1 hour')
       ON CONFLICT (name) DO UPDATE SET until = EXCLUDED.until`,
    )
    const given = [{ guid: 'during' }]
    await insert(given, () => given)
    await db.pool.query('DELETE FROM upgrade_window')
    const rows = await stored('clear')
    expect(rows.map(({ push_token }) => typeof push_token)).toEqual(['object', 'string'])
  })
})
