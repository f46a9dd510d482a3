import { beforeAll, expect, it } from '@jest/globals'
import { tokensOf } from '../src/tasks/index.ts'
import { addApplication, useDatabase } from './setup.ts'

const db = useDatabase({ max: 2 })
let appId: string
beforeAll(async () => {
  appId = await addApplication(db)
})

async function addDevice(guid: string, platform: string | null, movedAgo: number, bundle?: string) {
  const { rows } = await db.pool.query<{ id: number }>(
    `WITH made AS (
       INSERT INTO device (app_id, guid, push_token, platform, moved_at)
       VALUES ($1, $2, $2, $3, now() - make_interval(secs => $4)) RETURNING id
     ), bound AS (
       INSERT INTO binding (device_id, channel, app_id, token, environment, bundle_id)
       SELECT id, 'huawei', $1, 'token-' || $2::text, 0, $5 FROM made
     ) SELECT id FROM made`,
    [appId, guid, platform, movedAgo, bundle ?? null],
  )
  return rows[0]!.id
}

it('returns the current tokens, which devices run HarmonyOS, which are disabled and which changed their user', async () => {
  const android = await addDevice('android', 'android', 3600, 'com.example')
  const harmony = await addDevice('harmony', 'harmony', 3600)
  const moved = await addDevice('moved', null, 60)
  const both = await addDevice('both', 'harmony', 60)
  const bare = await addDevice('bare', 'harmony', 3600)
  await db.pool.query('DELETE FROM binding WHERE device_id = $1', [bare])
  const disabled = await addDevice('disabled', 'android', 3600)
  await db.pool.query('UPDATE device SET enabled = false WHERE id = $1', [disabled])
  const since = Date.now() - 600_000

  const found = await tokensOf(db.pool, 'huawei', [both, android, moved, harmony, bare, disabled], since)
  expect(Object.fromEntries(found)).toEqual({
    [android]: {
      token: 'token-android',
      environment: 0,
      bundleId: 'com.example',
      harmony: false,
      disabled: false,
    },
    [harmony]: { token: 'token-harmony', environment: 0, bundleId: null, harmony: true, disabled: false },
    [disabled]: { token: 'token-disabled', environment: 0, bundleId: null, harmony: false, disabled: true },
    [moved]: expect.objectContaining({ token: 'token-moved', harmony: false }),
    [both]: expect.objectContaining({ token: 'token-both', harmony: true }),
  })
  for (const id of [moved, both]) expect(found.get(id)!.movedAt).toBeGreaterThan(since)
  expect((await tokensOf(db.pool, 'fcm', [android], since)).size).toBe(0)
  expect((await tokensOf(db.pool, 'huawei', [], since)).size).toBe(0)
})
