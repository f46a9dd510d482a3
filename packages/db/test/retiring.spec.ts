import { acceptPlan } from '@herald/testkit'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { bind, markSuspect, retireReported } from '../src/devices/index.ts'
import { claimBatches, settleBatches } from '../src/tasks/index.ts'
import { addApplication, addCertificate, settlementOf, useDatabase } from './setup.ts'

const db = useDatabase()

let app: string
let certificateId: number
beforeEach(async () => {
  app = await addApplication(db)
  certificateId = await addCertificate(db, app, 'fcm')
})

const bindToken = (deviceId: number, token: string) =>
  bind(db, { appId: app, deviceId, channel: 'fcm', token, environment: 'production' })
const tokens = async () =>
  (await db.pool.query('SELECT token FROM binding WHERE app_id = $1 ORDER BY token', [app])).rows.map(
    ({ token }) => token as string,
  )

/** Adds devices; their tokens are `t` and their id. */
async function addDevices(count: number): Promise<number[]> {
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, push_token)
     SELECT $1, 'g' || n, $1 || n FROM generate_series(1, $2::int) n RETURNING id`,
    [app, count],
  )
  const ids = rows.map(({ id }) => id)
  await db.pool.query(
    `INSERT INTO binding (device_id, channel, app_id, token) SELECT id, 'fcm', $1, 't' || id FROM unnest($2::bigint[]) id`,
    [app, ids],
  )
  return ids
}

/** Adds a released batch for these devices. */
async function release(recipients: number[]) {
  const plan = { batches: [{ channel: 'fcm' as const, certificateId, recipients, tried: [] }] }
  const { taskId, released } = await acceptPlan(db, app, plan)
  return { taskId, id: released[0]!.id, recipients }
}

/** Settles a batch in which the vendor called the first `gone` tokens dead. */
function settle(
  { taskId, id, recipients }: Awaited<ReturnType<typeof release>>,
  version: number,
  gone: number,
) {
  const sent = recipients.length - gone
  return settleBatches(db, [
    settlementOf(
      { taskId, id, version },
      {
        status: 'f'.repeat(gone) + 's'.repeat(sent),
        sent,
        failed: gone,
        retire: recipients
          .slice(0, gone)
          .map((deviceId) => ({ deviceId, token: `t${deviceId}`, since: Date.now() + 60_000 })),
        answered: recipients.length,
        gone,
      },
    ),
  ])
}

async function sendTo(recipients: number[], gone: number) {
  const batch = await release(recipients)
  const [claimed] = await claimBatches(
    db.pool,
    { channel: 'fcm', certificateIds: [certificateId], batches: [batch] },
    { seconds: 30, worker: 'w' },
  )
  return settle(batch, claimed!.version, gone)
}

describe('a token that a vendor calls dead', () => {
  it('is retired unless the device has another token by now', async () => {
    const ids = await addDevices(3)
    await bindToken(ids[0]!, 'another')
    expect(await sendTo(ids, 2)).toMatchObject({ suspect: new Set() })
    expect(await tokens()).toEqual(['another', `t${ids[2]}`])
  })

  it('is not retired by a worker that lost its lease', async () => {
    const ids = await addDevices(1)
    const { settled } = await settle(await release(ids), -1, 1)
    expect(settled.size).toBe(0)
    expect(await tokens()).toEqual([`t${ids[0]}`])
  })
})

describe('the guard against mass retirement', () => {
  it.each([
    [19, 19, false],
    [20, 10, false],
    [20, 11, true],
  ])('of %i tokens %i dead: suspect is %s', async (answered, gone, suspect) => {
    const ids = await addDevices(answered)
    expect((await sendTo(ids, gone)).suspect.size === 1).toBe(suspect)
    expect(await tokens()).toHaveLength(suspect ? answered : answered - gone)
  })

  it.each([
    ['9 minutes', true],
    ['11 minutes', false],
  ])('counts answers of %s ago: suspect is %s', async (age, suspect) => {
    await db.pool.query(
      `INSERT INTO token_window (certificate_id, minute, answered, gone)
       VALUES ($1, date_trunc('minute', now() - $2::interval), 15, 15)`,
      [certificateId, age],
    )
    expect((await sendTo(await addDevices(5), 5)).suspect.size === 1).toBe(suspect)
  })

  it('retires nothing when receipts call most tokens dead', async () => {
    const ids = await addDevices(20)
    const reported = ids.map((id) => ({ token: `t${id}`, since: Date.now() + 60_000 }))
    const certificate = { id: certificateId, appId: app, channel: 'fcm' as const }
    expect(await retireReported(db, certificate, reported.slice(0, 1))).toBe(1)
    expect(await retireReported(db, certificate, reported.slice(1))).toBe(0)
    expect(await tokens()).toHaveLength(20)
  })

  it('restores only tokens that were retired as dead in the window', async () => {
    const ids = await addDevices(3)
    await sendTo(ids, 3)
    expect(await tokens()).toEqual([])
    const change = (id: number, to: string) =>
      db.pool.query(`UPDATE retired_token SET ${to} WHERE app_id = $1 AND device_id = $2`, [app, id])
    await change(ids[0]!, `retired_at = now() - interval '11 minutes'`)
    await change(ids[1]!, `reason = 'unbound'`)
    expect(await markSuspect(db, certificateId)).toBe(1)
    expect(await tokens()).toEqual([`t${ids[2]}`])
  })
})
