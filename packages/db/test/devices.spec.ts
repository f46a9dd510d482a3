import { until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { describe, expect, it } from '@jest/globals'
import { bind, DeviceGone, unbind } from '../src/devices/bindings.ts'
import { openDeviceWriter } from '../src/devices/device-writer.ts'
import {
  claimDevice,
  clearAlias,
  findDevice,
  listDevices,
  registerDevice,
  setAlias,
  UserGone,
} from '../src/devices/devices.ts'
import { createPushTokens } from '../src/devices/push-tokens.ts'
import { findImbalances } from '../src/readings/index.ts'
import { type Database, openDatabase } from '../src/store/database.ts'
import { changeApplicationSettings } from '../src/tenants/application-settings.ts'
import { createApplication } from '../src/tenants/applications.ts'
import { countLoginAttempt, uncountLoginAttempt } from '../src/tenants/login-failures.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase({ max: 20 })
const pushTokens = createPushTokens(Buffer.alloc(32))

async function openApplication(appId: string): Promise<void> {
  await createApplication(db, { appId, name: appId, packageName: '' })
  await changeApplicationSettings(db, appId, { register: true, registerPerDay: 100 })
}

async function addUsers(appId: string, count: number): Promise<bigint[]> {
  const { rows } = await db.pool.query<{ id: string }>(
    `INSERT INTO app_user (app_id, username) SELECT $1, 'user-' || n FROM generate_series(1, $2) n RETURNING id::text`,
    [appId, count],
  )
  return rows.map((row) => BigInt(row.id))
}

async function addDevices(appId: string, count: number): Promise<number[]> {
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, push_token) SELECT $1, 'g' || n, $1 || '-token-' || n FROM generate_series(1, $2) n
     RETURNING id`,
    [appId, count],
  )
  return rows.map((row) => row.id)
}

describe('binding', () => {
  it('gets its turn although other devices take the token ten times in between', async () => {
    const [deviceId] = await addDevices('busy', 1)
    const taken = Object.assign(new Error('taken'), { code: '23505' })
    let times = 0
    const own = openDatabase(db.url, { max: 1 })
    own.pool.on('connect', (client) => {
      const query = client.query.bind(client) as (text: string, ...rest: unknown[]) => unknown
      client.query = ((text: string, ...rest: unknown[]) =>
        /^INSERT INTO binding/.test(text) && times++ < 10
          ? Promise.reject(taken)
          : query(text, ...rest)) as never
    })
    const wanted = { channel: 'fcm', token: 'wanted', environment: 'production' } as const
    await bind(own, { ...wanted, appId: 'busy', deviceId: deviceId! }).finally(() => own.close())
    const { rows } = await db.pool.query(`SELECT token FROM binding WHERE app_id = 'busy'`)
    expect(rows).toEqual([{ token: 'wanted' }])
    expect(times).toBe(11)
  })

  it('leaves one device per token and one token per device after concurrent binds', async () => {
    const ids = await addDevices('race', 5)
    const tokens = ['a', 'b', 'c', 'd']
    await Promise.all(
      Array.from({ length: 300 }, (_, i) =>
        bind(db, {
          appId: 'race',
          deviceId: ids[(i * 7) % ids.length]!,
          channel: i % 2 ? 'apns' : 'huawei',
          token: tokens[(i >> 1) % tokens.length]!,
          environment: 'production',
        }),
      ),
    )
    const { rows } = await db.pool.query<{ channel: string; token: string }>(
      `SELECT channel, token FROM binding WHERE app_id = 'race'`,
    )
    expect(new Set(rows.map(({ channel, token }) => `${channel}/${token}`)).size).toBe(rows.length)
    // Every token that was ever bound is bound or retired.
    const known = new Set(rows.map(({ channel, token }) => `${channel}/${token}`))
    const retired = await db.pool.query<{ channel: string; token: string }>(
      `SELECT channel, token FROM retired_token WHERE app_id = 'race'`,
    )
    for (const { channel, token } of retired.rows) known.add(`${channel}/${token}`)
    expect(known.size).toBe(8)
  })

  it('does not lock the row of a retired token while it waits for another bind', async () => {
    const [first, second] = await addDevices('turns', 2)
    const binding = { appId: 'turns', deviceId: second!, tokenGeneration: 0, channel: 'fcm' as const }
    const again = () => bind(db, { ...binding, token: 'turned', environment: 'production' })
    await again()
    await unbind(db, binding)
    const other = await db.pool.connect()
    try {
      await other.query('BEGIN')
      await other.query(
        `INSERT INTO binding (device_id, channel, app_id, token) VALUES ($1, 'fcm', 'turns', 'turned')`,
        [first],
      )
      const bound = again()
      const isWaiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      await until(async () => (await db.pool.query(isWaiting)).rowCount === 1)
      // If the other transaction retired the token, each would wait for the other.
      const { rowCount } = await other.query(
        `SELECT 1 FROM retired_token WHERE app_id = 'turns' AND token = 'turned' FOR UPDATE NOWAIT`,
      )
      expect(rowCount).toBe(1)
      await other.query('ROLLBACK')
      await bound
    } finally {
      other.release()
    }
    const { rows } = await db.pool.query(
      `SELECT device_id, (SELECT count(*)::int FROM retired_token WHERE app_id = 'turns') AS retired FROM binding WHERE app_id = 'turns'`,
    )
    expect(rows).toEqual([{ device_id: second, retired: 0 }])
  })

  it('forgets that a token was retired when its device binds it again', async () => {
    const [id] = await addDevices('again', 1)
    const on = (token: string) =>
      bind(db, { appId: 'again', deviceId: id!, channel: 'fcm', token, environment: 'production' })
    await on('one')
    await on('two')
    await on('one')
    const { rows } = await db.pool.query(`SELECT token, reason FROM retired_token WHERE app_id = 'again'`)
    expect(rows).toEqual([{ token: 'two', reason: 'replaced' }])
  })

  it('is made and removed only while the device has the push token of the caller', async () => {
    const appId = 'generations'
    await openApplication(appId)
    await registerDevice(db, pushTokens, { appId, guid: 'a' })
    const { deviceId, tokenGeneration } = (await findDevice(db, appId, { guid: 'a' }))!
    const channel = 'fcm' as const
    const own = { appId, deviceId, tokenGeneration, channel }
    const former = { ...own, tokenGeneration: tokenGeneration - 1 }
    const bound = async () =>
      (await db.pool.query('SELECT token FROM binding WHERE device_id = $1', [deviceId])).rows
    await bind(db, { ...own, token: 'own', environment: 'production' })
    const late = bind(db, { ...former, token: 'late', environment: 'production' })
    await expect(late).rejects.toBeInstanceOf(DeviceGone)
    expect(await unbind(db, former)).toBeUndefined()
    expect(await bound()).toEqual([{ token: 'own' }])
    expect(await unbind(db, own)).toBe(true)
    expect(await unbind(db, own)).toBe(false)
    expect(await bound()).toEqual([])
  })

  it('separates the tokens of applications', async () => {
    const [first] = await addDevices('app-1', 1)
    const [second] = await addDevices('app-2', 1)
    for (const [appId, deviceId] of [
      ['app-1', first],
      ['app-2', second],
    ] as const)
      await bind(db, {
        appId,
        deviceId: deviceId!,
        channel: 'fcm',
        token: 'same',
        environment: 'development',
      })
    const { rows } = await db.pool.query(`SELECT app_id FROM binding WHERE token = 'same' ORDER BY 1`)
    expect(rows).toEqual([{ app_id: 'app-1' }, { app_id: 'app-2' }])
  })
})

describe('claiming a device', () => {
  it('creates one device for concurrent logins with its guid', async () => {
    await openApplication('claims')
    const users = await addUsers('claims', 3)
    const claims = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        claimDevice(db, pushTokens, { appId: 'claims', guid: 'one', userId: users[i % 3]! }),
      ),
    )
    expect(new Set(claims.map(({ deviceId }) => deviceId)).size).toBe(1)
    // Each change of the owner replaced the token; the last one is valid.
    const valid = await Promise.all(
      [...new Set(claims.map(({ pushToken }) => pushToken))].map((pushToken) =>
        findDevice(db, 'claims', { pushToken }),
      ),
    )
    expect(valid.filter((device) => device !== undefined)).toHaveLength(1)
    const { rows } = await db.pool.query(`SELECT count(*)::int AS n FROM device WHERE app_id = 'claims'`)
    expect(rows).toEqual([{ n: 1 }])
  })

  it('uses up no id for a known device', async () => {
    await openApplication('dense')
    const [userId] = (await addUsers('dense', 1)) as [bigint]
    await claimDevice(db, pushTokens, { appId: 'dense', guid: 'a', userId })
    for (let i = 0; i < 10; i++) {
      await claimDevice(db, pushTokens, { appId: 'dense', guid: 'a', userId })
      await registerDevice(db, pushTokens, { appId: 'dense', guid: 'b' })
    }
    const a = await findDevice(db, 'dense', { guid: 'a' })
    const b = await findDevice(db, 'dense', { guid: 'b' })
    expect(b!.deviceId - a!.deviceId).toBe(1)
  })

  it('sets moved_at when the owner changes, and not for the first owner', async () => {
    const movedAt = async () =>
      (await db.pool.query(`SELECT moved_at FROM device WHERE app_id = 'moved'`)).rows[0].moved_at.getTime()
    await openApplication('moved')
    await registerDevice(db, pushTokens, { appId: 'moved', guid: 'a' })
    const first = await movedAt()
    const [one, two] = (await addUsers('moved', 2)) as [bigint, bigint]
    await claimDevice(db, pushTokens, { appId: 'moved', guid: 'a', userId: one })
    expect(await movedAt()).toBe(first)
    await claimDevice(db, pushTokens, { appId: 'moved', guid: 'a', userId: two })
    expect(await movedAt()).toBeGreaterThan(first)
  })
})

describe('the alias that an app sets', () => {
  it('is another person if the device had one: what waits for the former one ends', async () => {
    const appId = 'alias'
    await openApplication(appId)
    await registerDevice(db, pushTokens, { appId, guid: 'a' })
    const device = (await findDevice(db, appId, { guid: 'a' }))!
    const state = async () => {
      const { rows } = await db.pool.query(
        `SELECT alias, extract(epoch FROM moved_at)::float8 AS "movedAt", (SELECT count(*)::int FROM activity WHERE device_id = d.id) AS activities
         FROM device d WHERE id = $1`,
        [device.deviceId],
      )
      const { rows: inbox } = await db.pool.query('SELECT 1 FROM inbox WHERE device_id = $1', [
        device.deviceId,
      ])
      return { ...rows[0], waiting: inbox.length }
    }
    const leave = async () => {
      await acceptPlan(db, appId, { inbox: [device.deviceId] })
      await db.pool.query(
        `INSERT INTO activity (device_id, kind, name, app_id, token) VALUES ($1, 'activity', 'game', $2, 'game')`,
        [device.deviceId, appId],
      )
    }
    const { movedAt } = await state()
    await leave()
    for (const alias of ['carol', 'carol']) {
      expect(await setAlias(db, appId, device, alias)).toBe(true)
      expect(await state()).toEqual({ alias, movedAt, activities: 1, waiting: 1 })
    }
    expect(await setAlias(db, appId, device, 'dave')).toBe(true)
    const changed = await state()
    expect(changed).toMatchObject({ alias: 'dave', activities: 0, waiting: 0 })
    expect(changed.movedAt).toBeGreaterThan(movedAt)
    await leave()
    expect(await setAlias(db, appId, device, null)).toBe(true)
    const cleared = await state()
    expect(cleared).toMatchObject({ alias: null, activities: 0, waiting: 0 })
    expect(cleared.movedAt).toBeGreaterThan(changed.movedAt)
    expect(await findImbalances(db)).toEqual([])
    expect(await setAlias(db, appId, { ...device, tokenGeneration: device.tokenGeneration + 1 }, 'eve')).toBe(
      false,
    )
    expect(await state()).toEqual(cleared)
  })

  it('is cleared only if it is the expected one', async () => {
    const appId = 'clear-alias'
    await openApplication(appId)
    await registerDevice(db, pushTokens, { appId, guid: 'a' })
    const device = (await findDevice(db, appId, { guid: 'a' }))!
    const state = async () =>
      (await db.pool.query('SELECT alias, moved_at FROM device WHERE id = $1', [device.deviceId])).rows[0]
    await setAlias(db, appId, device, 'dave')
    const before = await state()
    expect(await clearAlias(db, appId, device, 'carol')).toEqual({ alias: 'dave' })
    expect(await state()).toEqual(before)
    const others = { ...device, tokenGeneration: device.tokenGeneration + 1 }
    expect(await clearAlias(db, appId, others, 'dave')).toBeUndefined()
    expect(await state()).toEqual(before)
    expect(await clearAlias(db, appId, device, 'dave')).toEqual({ alias: null })
    expect((await state()).alias).toBeNull()
    await setAlias(db, appId, device, 'erin')
    expect(await clearAlias(db, appId, device)).toEqual({ alias: null })
    expect((await state()).alias).toBeNull()
  })
})

describe('a user who is removed while a device is written', () => {
  /** Starts the work while a transaction removes the user, which ends when the work waits for it. */
  async function whileRemoving<T>(userId: bigint, work: () => Promise<T>): Promise<T> {
    const other = await db.pool.connect()
    try {
      await other.query('BEGIN')
      await other.query('DELETE FROM app_user WHERE id = $1', [userId])
      const result = work()
      const isWaiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      await until(async () => (await db.pool.query(isWaiting)).rowCount === 1)
      await other.query('COMMIT')
      return await result
    } finally {
      other.release()
    }
  }
  const guidsOf = async (appId: string) =>
    (await db.pool.query('SELECT guid FROM device WHERE app_id = $1', [appId])).rows.map(({ guid }) => guid)

  it('gets none by a login', async () => {
    await openApplication('gone-login')
    const [userId] = (await addUsers('gone-login', 1)) as [bigint]
    const claim = () => claimDevice(db, pushTokens, { appId: 'gone-login', guid: 'late', userId })
    expect(await whileRemoving(userId, () => claim().catch((error) => error))).toBeInstanceOf(UserGone)
    await expect(claim()).rejects.toThrow(UserGone)
    expect(await guidsOf('gone-login')).toEqual([])
  })

  it.each(['write', 'insert'] as const)('gets none by an import that %ss', async (way) => {
    const appId = `gone-${way}`
    await openApplication(appId)
    const [gone, stays] = (await addUsers(appId, 2)) as [bigint, bigint]
    const { write, insert } = openDeviceWriter(db, pushTokens, appId, { expectNew: way === 'insert' })
    const changes = [
      { guid: 'late', userId: String(gone) },
      { guid: 'other', userId: String(stays) },
    ]
    const results = await whileRemoving(gone, () =>
      way === 'write' ? write(changes) : insert(changes, () => changes),
    )
    expect(results).toEqual([{ refused: 'unknown user' }, { outcome: 'created', pushToken: '' }])
    expect(await guidsOf(appId)).toEqual(['other'])
  })
})

describe('searching devices', () => {
  it('uses no sequential scan', async () => {
    const { write } = openDeviceWriter(db, pushTokens, 'big', { expectNew: true })
    for (let batch = 0; batch < 4; batch++)
      await write(
        Array.from({ length: 5000 }, (_, i) => {
          const n = batch * 5000 + i
          return {
            guid: `big-${n}`,
            platform: 'android' as const,
            alias: `alias-${n % 5000}`,
            tags: [`tag-${n % 1000}`],
            bindings: [{ channel: 'huawei' as const, token: `big-token-${n}`, environment: 1 as const }],
          }
        }),
      )
    await db.pool.query('ANALYZE device, binding, device_tag')
    const filters = [
      {},
      { alias: 'alias-7' },
      { tag: 'tag-7' },
      { token: 'big-token-77' },
      { token: pushTokens.make({ appId: 'big', guid: 'big-777' }).token },
      { guid: 'big-777' },
      { userId: 5n },
    ]
    for (const filter of filters) {
      const plans: string[] = []
      const explaining = {
        ...db,
        pool: {
          query: async (text: string, values: unknown[]) => {
            const { rows } = await db.pool.query(`EXPLAIN ${text}`, values)
            plans.push(...rows.map((row) => row['QUERY PLAN']))
            return { rows: [] }
          },
        },
      } as unknown as Database
      await listDevices(explaining, pushTokens, { appId: 'big' }, filter, { limit: 50 })
      expect(plans.filter((line) => /Seq Scan on (device|binding|device_tag)/.test(line))).toEqual([])
    }
    expect(await listDevices(db, pushTokens, { appId: 'big' }, { tag: 'tag-7' }, { limit: 50 })).toHaveLength(
      20,
    )
  })
})

describe('counting logins', () => {
  it('uncounts successful logins without starting a window too early', async () => {
    for (let i = 0; i < 50; i++) {
      expect(await countLoginAttempt(db, 'logins', 'anna')).toBeUndefined()
      await uncountLoginAttempt(db, 'logins', 'anna')
    }
    const { rows } = await db.pool.query(`SELECT * FROM login_failure WHERE app_id = 'logins'`)
    expect(rows).toEqual([])
    const counted = await Promise.all(
      Array.from({ length: 25 }, () => countLoginAttempt(db, 'logins', 'anna')),
    )
    expect(counted.filter((result) => result === undefined)).toHaveLength(10)
    await uncountLoginAttempt(db, 'logins', 'anna')
    expect(await countLoginAttempt(db, 'logins', 'anna')).toBeUndefined()
    expect(await countLoginAttempt(db, 'logins', 'anna')).toEqual({ waitSeconds: expect.any(Number) })
  })
})
