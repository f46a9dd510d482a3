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
