import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { saveCertificate } from '@herald/db/certificates'
import type { Database, Sealer } from '@herald/db/store'
import { demoCertificate, keepDemoCredentials } from '@herald/standalone'
import { measuredVendors } from './vendor-calls.ts'

/** Adds certificates of the measured vendors with generated keys; `extra` is added to each. */
export async function addVendorCertificates(
  db: Database,
  sealer: Sealer,
  appId: string,
  extra: Record<string, unknown>,
): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'herald-mixed-'))
  try {
    const credentials = await keepDemoCredentials(dir)
    for (const channel of measuredVendors) {
      const fields = demoCertificate(channel, credentials)
      await saveCertificate(db, sealer, {
        application: appId,
        channel,
        environment: 'production',
        name: channel,
        ...fields,
        extra: { ...fields.extra, ...extra },
      })
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Tokens in the format and length of the vendors' real ones, from the 32-byte hash `h` and its hexadecimal text `x`. */
const tokenByChannel = `CASE channel
  WHEN 'apns' THEN x
  WHEN 'fcm' THEN left(x, 22) || ':APA91b' || left(x || x || x, 134)
  WHEN 'huawei' THEN 'IQAAAA' || translate(encode(h, 'base64'), '+/=', '-_')
  WHEN 'honor' THEN 'B' || translate(encode(h, 'base64'), '+/=', '-_')
  WHEN 'xiaomi' THEN encode(h || substr(h, 1, 16), 'base64')
  WHEN 'oppo' THEN 'OPPO_CN_' || left(x, 32)
  WHEN 'vivo' THEN left(translate(x, 'abcdef', '123456'), 23)
  WHEN 'meizu' THEN 'M' || left(x, 31) END`

const CHUNK = 100_000

/**
 * Inserts devices: `native` of them without a vendor, the others spread over the measured vendors, mixed over the ids as in an
 * old application. The first `few` have the tag `few`. Returns the push tokens of the devices without a vendor.
 */
export async function addMixedDevices(
  db: Database,
  appId: string,
  size: { devices: number; native: number; few: number },
): Promise<string[]> {
  const { devices, native, few } = size
  // A million rows per statement would exceed the statement timeout.
  for (let from = 1; from <= devices; from += CHUNK)
    await db.pool.query({
      text: `WITH kind AS MATERIALIZED (
       SELECT n, CASE WHEN n * $3 / $2 = (n - 1) * $3 / $2 THEN ($4::text[])[1 + (n - 1 - n * $3 / $2) % cardinality($4::text[])] END AS channel
       FROM generate_series($5::bigint, $6::bigint) n
     ), made AS (
       INSERT INTO device (app_id, guid, push_token_hash, platform, moved_at)
       SELECT $1, 'g' || n, push_token_hash('p' || n), CASE channel WHEN 'apns' THEN 'ios' ELSE 'android' END, now() - interval '1 hour'
       FROM kind ORDER BY n RETURNING id, guid
     ), tokens AS (
       SELECT id, channel, h, encode(h, 'hex') AS x
       FROM (SELECT id, channel, sha256(made.guid::bytea) AS h FROM made JOIN kind ON made.guid = 'g' || kind.n) hashed
       WHERE channel IS NOT NULL
     )
     INSERT INTO binding (device_id, channel, app_id, token, registered_at, device_changed_at)
     SELECT id, channel, $1, ${tokenByChannel}, now() - interval '1 hour', now() - interval '1 hour' FROM tokens ORDER BY id`,
      values: [appId, devices, native, measuredVendors, from, Math.min(from + CHUNK - 1, devices)],
    })
  await db.pool.query(
    `WITH few AS (INSERT INTO tag (app_id, name) VALUES ($1, 'few') RETURNING id)
     INSERT INTO device_tag (tag_id, device_id)
     SELECT few.id, device.id FROM few, device WHERE app_id = $1 AND substr(guid, 2)::int <= $2`,
    [appId, few],
  )
  await db.pool.query('VACUUM ANALYZE device, binding, device_tag')
  const { rows } = await db.pool.query<{ token: string }>(
    `SELECT 'p' || substr(guid, 2) AS token FROM device WHERE app_id = $1
     AND NOT EXISTS (SELECT FROM binding WHERE device_id = device.id)`,
    [appId],
  )
  return rows.map(({ token }) => token)
}
