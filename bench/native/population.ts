import { randomBytes } from 'node:crypto'
import { saveCertificate } from '@herald/db/certificates'
import type { Database, Sealer } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'

const KINDS = ['accepted', 'accepted', 'accepted', 'rejected', undefined] as const

/** What the stub vendor answers stands in the token; one device in five has none. */
export function vendorToken(id: number): string | undefined {
  const kind = KINDS[id % KINDS.length]
  return kind && `${id}:${kind}`
}

export async function createDrillApplication(db: Database, sealer: Sealer): Promise<string> {
  const made = await createApplication(db, {
    name: `drill ${randomBytes(4).toString('hex')}`,
    packageName: 'com.example',
  })
  if (made === 'taken') throw new Error('the name of the drill is taken')
  await saveCertificate(db, sealer, {
    application: made.appId,
    channel: 'xiaomi',
    environment: 'production',
    name: 'drill',
    appId: '100000',
    appKey: 'key',
    appSecret: 'secret',
    certificate: '',
    extra: {
      package_name: 'com.example',
      limits: { requests_per_s: 1_000_000, devices_per_s: 1_000_000 },
    },
  })
  return made.appId
}

export type Seed = { id: number; pushToken: string }

export async function addDevices(db: Database, appId: string, count: number): Promise<Seed[]> {
  const { rows } = await db.pool.query<Seed>(
    `INSERT INTO device (app_id, guid, push_token, platform, moved_at)
     SELECT $1, $1 || n, $1 || '-' || n, 'android', now() - interval '1 hour' FROM generate_series(1, $2::int) n
     RETURNING id, push_token AS "pushToken"`,
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
