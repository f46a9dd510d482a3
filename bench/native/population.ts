import { randomBytes } from 'node:crypto'
import { saveCertificate } from '@herald/db/certificates'
import type { Database, Sealer } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'
import { unlimited } from '../pipeline/deployment.ts'

const KINDS = ['accepted', 'accepted', 'accepted', 'rejected', undefined] as const

/** The response of the stub vendor is in the token. One device in five has no token. */
export function vendorToken(id: number): string | undefined {
  const kind = KINDS[id % KINDS.length]
  return kind && `${id}:${kind}`
}

export async function createDrillApplication(db: Database, sealer: Sealer): Promise<string> {
  const made = await createApplication(db, {
    name: `drill ${randomBytes(4).toString('hex')}`,
    packageName: 'com.example',
  })
  if (made === 'taken') throw new Error('the name of the application is taken')
  await saveCertificate(db, sealer, {
    application: made.appId,
    channel: 'xiaomi',
    environment: 'production',
    name: 'drill',
    appId: '100000',
    appKey: 'key',
    appSecret: 'secret',
    certificate: '',
    extra: { package_name: 'com.example', ...unlimited },
  })
  return made.appId
}

export type Seed = { id: number; pushToken: string }

export async function addDevices(db: Database, appId: string, count: number): Promise<Seed[]> {
  const { rows } = await db.pool.query<Seed>(
    `INSERT INTO device (app_id, guid, push_token_hash, platform, moved_at)
     SELECT $1, $1 || n, push_token_hash($1 || n), 'android', now() - interval '1 hour' FROM generate_series(1, $2::int) n
     RETURNING id, guid AS "pushToken"`,
    [appId, count],
  )
  const bound = rows.filter(({ id }) => vendorToken(id))
  await db.pool.query(
    `INSERT INTO binding (device_id, channel, app_id, token, registered_at)
     SELECT b.id, 'xiaomi', $1, b.token, now() - interval '1 hour' FROM unnest($2::bigint[], $3::text[]) AS b (id, token)`,
    [appId, bound.map(({ id }) => id), bound.map(({ id }) => vendorToken(id))],
  )
  return rows
}
