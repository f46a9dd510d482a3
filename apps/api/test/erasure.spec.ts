import { bind, DeviceGone } from '@herald/db/devices'
import { acknowledge } from '@herald/db/native'
import { findImbalances } from '@herald/db/readings'
import { applyRetention, cancelAccepted, recordReceipts } from '@herald/db/tasks'
import { dumpOf, until } from '@herald/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { createPasswords } from '../src/auth/passwords.ts'
import { countingPasswords, openTestApi, type TestApi } from './harness.ts'

let api: TestApi
let log = ''
beforeAll(async () => {
  api = await openTestApi({
    env: { HERALD_LOG_LEVEL: 'trace' },
    onLog: (line) => {
      log += line
    },
    overrides: { passwords: createPasswords({ derive: countingPasswords().derive }) },
  })
  await api.client.putCertificate({ provider: 2, app_id: '100', app_secret: 's' })
})
afterAll(() => api.close())
afterEach(async () => expect(await findImbalances(api.context.db)).toEqual([]))

const query = async <Row>(sql: string, values: unknown[] = []) =>
  (await api.context.db.pool.query(sql, values)).rows as Row[]
const erase = async (body: object) => (await api.call('/admin/erase', { body })).data
const idOf = async (guid: string) =>
  (await query<{ id: number }>('SELECT id FROM device WHERE guid = $1', [guid]))[0]!.id
const import_ = (...lines: object[]) => api.client.importDevices(lines as never)
const line = (guid: string, alias?: string) => ({
  device_guid: guid,
  platform: 'android' as const,
  alias,
  tags: ['vip'],
  bindings: [{ provider: 2, device_token: `huawei-of-${guid}` }],
})

async function notify(audience: object, title: string, more: object = {}) {
  const { data } = await api.call('/push/notify', {
    body: { audience, message: { title, body: `${title} body`, ext: { for: title }, ...more } },
  })
  return data.task_id as number
}
const taskOf = async (id: number) =>
  (
    await query<{ state: string; cancelling: boolean; audience: Record<string, unknown>; message: object }>(
      'SELECT state, cancelling, audience, message FROM task WHERE id = $1',
      [id],
    )
  )[0]!

/** Everything that Herald stores about a device, as the pipeline would have written it. */
async function leaveTraces(guid: string, taskId: number) {
  const id = await idOf(guid)
  await recordReceipts(api.context.db, [{ appId: api.appId, taskId, deviceId: id, event: 'received' }])
  await query(
    `INSERT INTO failure (task_id, channel, fate, reason, text, count, samples)
     VALUES ($1, 'huawei', 'moved', 'huawei.1', $2, 2, ARRAY[4000000000, $3::bigint])`,
    [taskId, `unknown code: huawei-of-${guid} is odd`, id],
  )
  // The vendor's text quotes the token, in the batch and in events that are not in the stream yet or are.
  const text = `huawei-of-${guid} is odd`
  await query(
    `UPDATE batch SET whys = coalesce(whys, '[]') || jsonb_build_array(jsonb_build_object('f', 'failed', 'c', 'huawei.2', 't', 'kept', 'p', '[]'::jsonb),
       jsonb_build_object('f', 'failed', 'c', 'huawei.1', 't', $1::text, 'p', '[0]'::jsonb)) WHERE $2 = ANY (recipients)`,
    [text, id],
  )
  for (const [columns, values] of [
    ['', ''],
    ['id, at, ', 'next_task_id(), now(), '],
  ])
    await query(
      `INSERT INTO ${columns ? 'event' : 'outbox'} (${columns}app_id, kind, task_id, channel, code, text, devices)
       VALUES (${values}$1, 'device.failed', $2, 'huawei', 'huawei.1', $3, ARRAY[$4::bigint])`,
      [api.appId, taskId, text, id],
    )
  await query('SELECT show_badges(ARRAY[$1::bigint], ARRAY[3], false)', [id])
  await query(`INSERT INTO presence VALUES ($1, 'gone-node', 1)`, [id])
  await query(`SELECT count_daily(current_date, 'huawei', ARRAY[$1::bigint, $1 + 1], 1, 9)`, [id])
  // Its former token.
  const { pushToken } = await pushTokenOf(guid)
  await api.call('/user/token/bind', {
    token: null,
    body: { push_token: pushToken, provider: 2, device_token: `second-${guid}` },
  })
  return id
}
async function pushTokenOf(guid: string) {
  const { list } = await api.client.devices({ device_guid: guid } as never)
  return { pushToken: list[0]!.push_token }
}

/** The tables with a column for a device, and the number of rows that have this one. */
async function rowsOf(id: number): Promise<Record<string, number>> {
  const tables = ['binding', 'retired_token', 'device_tag', 'presence', 'inbox', 'receipt'] as const
  const counts: Record<string, number> = {}
  for (const table of tables) {
    const [row] = await query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table} WHERE device_id = $1`, [
      id,
    ])
    counts[table] = row!.n
  }
  const [samples] = await query<{ n: number }>(
    'SELECT count(*)::int AS n FROM failure WHERE $1 = ANY (samples)',
    [id],
  )
  const [today] = await query<{ n: number }>(
    'SELECT coalesce(sum(get_byte(counts, ($1 & 255)::int)), 0)::int AS n FROM daily_count WHERE block = $1 >> 8',
    [id],
  )
  const [badge] = await query<{ n: number }>('SELECT badge_of($1) AS n', [id])
  return { ...counts, badge: badge!.n, samples: samples!.n, today: today!.n }
}

describe('POST /admin/erase', () => {
  it('leaves nothing of the devices with an alias in the tables, the queue and the logs', async () => {
    await import_(
      line('carol-phone', 'usr_carol'),
      line('carol-tablet', 'usr_carol'),
      line('dave-phone', 'usr_dave'),
    )
    const carol = await pushTokenOf('carol-phone')
    const later = { show_begin_time: Math.floor(Date.now() / 1000) + 3600 }
    const only = await notify({ alias: ['usr_carol'] }, 'Dear Carol')
    const both = await notify({ alias: ['usr_carol', 'usr_dave'] }, 'To some', later)
    const byToken = await notify({ push_token: [carol.pushToken] }, 'By token')
    const planned = await notify({ alias: ['usr_carol'] }, 'Carol tomorrow', later)
    const everybody = await notify('all' as never, 'To all')
    const waiting = await api.call('/push/notify', {
      body: {
        audience: { alias: ['usr_carol', 'usr_dave'] },
        message: { title: 'Inbox' },
        setting: { distribution_strategy: 'nativepush_only' },
      },
    })
    await api.call('/admin/device/token', { body: { device_guid: 'carol-phone' } })
    const id = await leaveTraces('carol-phone', everybody)
    await leaveTraces('dave-phone', only)
    const before = await rowsOf(id)
    expect(Object.entries(before).filter(([, count]) => count === 0)).toEqual([])

    expect(await erase({ alias: 'usr_carol' })).toEqual({ devices: 2 })

    const empty = Object.fromEntries(Object.keys(before).map((table) => [table, 0]))
    expect(await rowsOf(id)).toEqual(empty)
    const dump = await dumpOf(api.context.db)
    for (const value of ['carol', 'Carol', carol.pushToken]) {
      expect(dump).not.toContain(value)
      expect(log).not.toContain(value)
    }
    for (const value of ['usr_dave', 'huawei-of-dave-phone', 'To some', 'To all'])
      expect(dump).toContain(value)
    // Only the texts are gone: events are still as many as are counted.
    for (const table of ['outbox', 'event'])
      expect(await query(`SELECT text, devices FROM ${table} WHERE $1 = ANY (devices)`, [id])).toEqual([
        { text: '[erased]', devices: [id] },
      ])
    const whys = await query<{ texts: string[] }>(
      `SELECT ARRAY(SELECT w ->> 't' FROM jsonb_array_elements(whys) w) AS texts FROM batch WHERE $1 = ANY (recipients) AND whys IS NOT NULL AND NOT is_record`,
      [id],
    )
    expect(whys.length).toBeGreaterThan(0)
    for (const { texts } of whys) expect(texts).toEqual(expect.arrayContaining(['kept', '[erased]']))
    expect(log).not.toContain('usr_dave')
    expect(log.length).toBeGreaterThan(0)

    expect(await taskOf(both)).toMatchObject({
      state: 'accepted',
      cancelling: false,
      audience: { aliases: ['usr_dave'] },
      message: { title: 'To some' },
    })
    for (const task of [only, byToken]) {
      expect(await taskOf(task)).toMatchObject({ cancelling: false, message: { title: '[erased]' } })
      expect(JSON.stringify(await taskOf(task))).not.toMatch(/Dear|By token/)
    }
    expect(await taskOf(planned)).toMatchObject({ cancelling: true, audience: { aliases: [] } })
    await cancelAccepted(api.context.db)
    expect(await taskOf(planned)).toMatchObject({ state: 'cancelled' })
    const { data: failures } = await api.call('/push/task/failures', {
      body: { task_id: waiting.data.task_id },
    })
    expect(failures).toEqual([
      expect.objectContaining({ fate: 'expired', code: 'herald.inbox_cleared', samples: [] }),
      expect.objectContaining({
        fate: 'waiting',
        samples: [expect.objectContaining({ device_guid: 'dave-phone' })],
      }),
    ])
    // What others have is untouched.
    expect(await rowsOf(await idOf('dave-phone'))).toMatchObject({
      retired_token: 1,
      device_tag: 1,
      samples: 1,
    })
  })

  it('leaves nothing of pushes to the Live Activities that only the person had, also of those that ended', async () => {
    await import_(line('olga-phone', 'usr_olga'), line('pete-phone', 'usr_pete'))
    const [olga, pete] = [await idOf('olga-phone'), await idOf('pete-phone')]
    const add = (deviceId: number, name: string) =>
      query(
        `INSERT INTO activity (device_id, kind, name, app_id, token) VALUES ($1, 'activity', $2, $3, $4)`,
        [deviceId, name, api.appId, `${name}${deviceId}`],
      )
    for (const name of ['order-olga', 'ride-olga', 'game']) await add(olga, name)
    await add(pete, 'game')
    const update = async (activity: string[], who: string) => {
      const message = { ios: { live_activity: { event: 'update', content_state: { who } } } }
      return (await api.call('/push/notify', { body: { audience: { activity }, message } })).data.task_id
    }
    /** As if the update had been sent to these devices. */
    const sentTo = async (taskId: number, ids: number[]) => {
      await query(
        `INSERT INTO batch (task_id, app_id, channel, lane, state, size, recipients, status, deadline, settled_at)
         VALUES ($1, $2, 'apns', 'high', 'settled', cardinality($3::bigint[]), $3, repeat('s', cardinality($3::bigint[])), now(), now())`,
        [taskId, api.appId, ids],
      )
      await query(
        `INSERT INTO counter (task_id, channel, target, ranged, sent) VALUES ($1, 'apns', $2, $2, $2)`,
        [taskId, ids.length],
      )
    }
    const running = await update(['order-olga'], 'Olga W.')
    const some = await update(['order-olga', 'game'], 'some')
    const ended = await update(['ride-olga'], 'Olga again')
    await sentTo(ended, [olga])
    const shared = await update(['game'], 'everybody')
    await sentTo(shared, [olga, pete])
    await query(`DELETE FROM activity WHERE name = 'ride-olga'`)

    expect(await erase({ device_guid: 'olga-phone' })).toEqual({ devices: 1 })

    const dump = await dumpOf(api.context.db)
    for (const value of ['Olga', '-olga']) expect(dump).not.toContain(value)
    for (const task of [running, ended])
      expect(await taskOf(task)).toMatchObject({
        audience: { activities: [] },
        message: { title: '[erased]' },
      })
    for (const [task, who] of [
      [some, 'some'],
      [shared, 'everybody'],
    ] as const) {
      const { audience, message } = await taskOf(task)
      expect(audience).toMatchObject({ activities: ['game'] })
      expect(message).toMatchObject({ ios: { liveActivity: { content_state: JSON.stringify({ who }) } } })
    }
  })

  it('can be repeated, and the person can come back', async () => {
    await import_(line('erin-phone', 'usr_erin'))
    const before = await pushTokenOf('erin-phone')
    expect(await erase({ alias: 'usr_erin' })).toEqual({ devices: 1 })
    expect(await erase({ alias: 'usr_erin' })).toEqual({ devices: 0 })
    expect(await erase({ alias: 'usr_unknown' })).toEqual({ devices: 0 })
    await import_(line('erin-phone', 'usr_erin'))
    const after = await pushTokenOf('erin-phone')
    expect(after.pushToken).not.toBe(before.pushToken)
    const task = await notify({ alias: ['usr_erin'] }, 'Welcome back')
    const [record] = await api.client.taskDetail([task])
    expect(record).toMatchObject({ huawei_target: 1 })
    expect(await taskOf(task)).toMatchObject({ message: { title: 'Welcome back' } })
    const { list } = await api.client.devices({ alias: 'usr_erin' } as never)
    expect(list).toEqual([expect.objectContaining({ device_guid: 'erin-phone', tags: ['vip'] })])
  })

  it('counts no receipt of an erased device again, not even while it is being erased', async () => {
    const { db } = api.context
    await import_(line('nina-phone', 'usr_nina'))
    const deviceId = await idOf('nina-phone')
    const byVendor = await notify({ alias: ['usr_nina'] }, 'By the vendor')
    const { data: native } = await api.call('/push/notify', {
      body: {
        audience: { alias: ['usr_nina'] },
        message: { title: 'Natively' },
        setting: { distribution_strategy: 'nativepush_only' },
      },
    })
    const report = async () => {
      const of = { appId: api.appId, deviceId }
      return [
        await recordReceipts(db, [{ ...of, taskId: byVendor, channel: 'huawei', event: 'clicked' }]),
        await acknowledge(db, [{ ...of, taskId: native.task_id }]),
      ]
    }
    const counted = () =>
      query(
        'SELECT channel, received, clicked FROM counter WHERE task_id = ANY($1) AND received > 0 ORDER BY channel',
        [[byVendor, native.task_id]],
      )
    const told = () =>
      query(
        `SELECT kind FROM outbox WHERE $1 = ANY (devices) AND kind IN ('device.received', 'device.clicked')`,
        [deviceId],
      )
    expect(await report()).toEqual([1, 1])
    const once = [await counted(), await told()]
    expect(once[0]).toHaveLength(2)

    await query(`INSERT INTO presence VALUES ($1, 'gone-node', 1)`, [deviceId])
    const holder = await db.pool.connect()
    let erasing: Promise<unknown>
    try {
      // The receipts are deleted before the device with its presence, which is held here.
      await holder.query('BEGIN')
      await holder.query('SELECT 1 FROM presence WHERE device_id = $1 FOR UPDATE', [deviceId])
      erasing = erase({ alias: 'usr_nina' })
      await until(async () => (await rowsOf(deviceId)).receipt === 0)
      expect(await report()).toEqual([0, 0])
      await holder.query('COMMIT')
    } finally {
      holder.release(true)
    }
    expect(await erasing).toEqual({ devices: 1 })
    expect(await report()).toEqual([0, 0])
    expect([await counted(), await told()]).toEqual(once)

    const numbers = () => query('SELECT 1 FROM erased_device WHERE device_id = $1', [deviceId])
    await applyRetention(db, 30)
    expect(await numbers()).toHaveLength(1)
    await query(`UPDATE erased_device SET erased_at = now() - interval '31 days' WHERE device_id = $1`, [
      deviceId,
    ])
    await applyRetention(db, 30)
    expect(await numbers()).toHaveLength(0)
  })

  it('erases a user with its names, memberships, failed logins and audit entries', async () => {
    const { data: made } = await api.call('/admin/user', {
      body: {
        username: 'frank-name',
        mobile: '+4915112345678',
        email: 'Frank@example.com',
        password: 'frank-secret',
      },
    })
    const { data: group } = await api.call('/admin/group', { body: { name: 'friends' } })
    await api.call('/admin/group/member/add', {
      body: { group_id: group.group_id, user_ids: [made.user_id] },
    })
    for (const name of ['frank-name', 'FRANK-name', 'nobody-else'])
      await api.call('/token/user', { token: null, body: { name, password: 'wrong' } })
    for (const login_name of ['frank@example.com', '+4915112345678'])
      await api.call('/token/login', { token: null, body: { login_name, password: 'wrong' } })
    const { data: session } = await api.call('/token/user', {
      token: null,
      body: { name: 'frank-name', password: 'frank-secret', device_guid: 'frank-phone' },
    })
    await api.call('/user/push/alias', {
      token: session.token,
      body: { push_token: session.push_token, alias: 'alias-of-frank' },
    })
    await api.call('/admin/device/token', { body: { device_guid: 'frank-phone' } })
    const named = await notify({ alias: ['alias-of-frank'] }, 'Hello Frank')
    const byId = await notify({ user_id: [made.user_id, 12345] }, 'Two users')
    const audited = () =>
      query<{ detail: Record<string, string> }>(
        `SELECT detail FROM audit WHERE detail ->> 'user_id' = $1 OR actor LIKE '%user ' || $1`,
        [String(made.user_id)],
      )
    expect((await audited()).length).toBeGreaterThan(0)
    const failedLogins = await query<{ id: number; detail: object }>(
      `SELECT id, detail FROM audit WHERE action = 'login.failed' AND detail ->> 'user_id' = $1`,
      [String(made.user_id)],
    )
    expect(failedLogins[0]?.detail).toMatchObject({ address: '127.0.0.1' })
    // A task that the user sent itself, as the holder of a token with that right.
    await query('UPDATE task SET actor = $2, address = $3 WHERE id = $1', [
      byId,
      `admin acting as user ${made.user_id}`,
      '192.0.2.77',
    ])

    expect(await erase({ user_id: made.user_id })).toEqual({ devices: 1 })

    const dump = await dumpOf(api.context.db)
    const names = ['frank', 'Frank', '4915112345678', session.push_token]
    for (const value of names) {
      expect(dump).not.toContain(value)
      expect(log).not.toContain(value)
    }
    expect(dump).toContain('nobody-else')
    expect(await audited()).toEqual([])
    const ids = failedLogins.map(({ id }) => id)
    expect(await query('SELECT detail FROM audit WHERE id = ANY($1)', [ids])).toEqual(
      ids.map(() => ({ detail: { user_id: '[erased]', count: expect.any(Number) } })),
    )
    expect(await query('SELECT actor, address FROM task WHERE id = $1', [byId])).toEqual([
      { actor: 'admin acting as user [erased]', address: null },
    ])
    expect(await taskOf(named)).toMatchObject({ audience: { aliases: [] } })
    expect(await taskOf(byId)).toMatchObject({ audience: { userIds: ['12345'] } })
    expect(await query('SELECT 1 FROM group_member WHERE user_id = $1', [made.user_id])).toEqual([])
    const refused = await api.call('/user/device/list', { token: session.token, body: {} })
    expect(refused.code).toBe(40102)
    const again = await api.call('/token/user', {
      token: null,
      body: { name: 'frank-name', password: 'frank-secret' },
    })
    expect(again.code).toBe(40103)
  })

  /** A login that is held after it has checked the password, until `work` is done. */
  async function loginDuring(name: string, guid: string, work: () => Promise<unknown>) {
    const checked = Promise.withResolvers<void>()
    const done = Promise.withResolvers<void>()
    const { verify } = api.deps.passwords
    api.deps.passwords.verify = async (password, stored) => {
      const isRight = await verify(password, stored)
      checked.resolve()
      await done.promise
      return isRight
    }
    const login = api.call('/token/user', {
      token: null,
      body: { name, password: `${name}-password`, device_guid: guid },
    })
    await checked.promise
    api.deps.passwords.verify = verify
    await work()
    done.resolve()
    return login
  }
  const lateRefusal = {
    code: 40103,
    message: 'The login failed: the user was removed, or its tokens were revoked.',
  }

  it('leaves no device of a login that has checked the password before the user is erased', async () => {
    const { userId } = await api.user('late-name')
    const login = await loginDuring('late-name', 'late-phone', async () =>
      expect(await erase({ user_id: userId })).toEqual({ devices: 0 }),
    )
    expect(login).toMatchObject(lateRefusal)
    expect(await query('SELECT guid FROM device WHERE guid = $1', ['late-phone'])).toEqual([])
  })

  it('gives no push token to a login that has checked a password which is replaced before its end', async () => {
    const { userId } = await api.user('late-password')
    const login = await loginDuring('late-password', 'late-password-phone', () =>
      api.call('/admin/user/password', { body: { user_id: userId, password: 'another-password' } }),
    )
    expect(login).toMatchObject(lateRefusal)
    expect(await query('SELECT guid FROM device WHERE guid = $1', ['late-password-phone'])).toEqual([])
  })

  it('removes failed logins under a name whose lower case Postgres and JavaScript write differently', async () => {
    const { data } = await api.call('/admin/user', {
      body: { username: 'ΝΙΚΟΣ', password: 'a-long-password' },
    })
    await api.call('/token/user', { token: null, body: { name: 'ΝΙΚΟΣ', password: 'wrong' } })
    const counted = () => query(`SELECT FROM login_failure WHERE login LIKE '%νικο%'`)
    expect((await counted()).length).toBeGreaterThan(0)
    await erase({ user_id: data.user_id })
    expect(await counted()).toEqual([])
  })

  it('erases one device; its alias stays in audiences while another device has it', async () => {
    await import_(line('gina-phone', 'usr_gina'), line('gina-tablet', 'usr_gina'))
    const task = await notify({ alias: ['usr_gina'] }, 'To Gina')
    expect(await erase({ device_guid: 'gina-phone' })).toEqual({ devices: 1 })
    expect(await taskOf(task)).toMatchObject({
      audience: { aliases: ['usr_gina'] },
      message: { title: 'To Gina' },
    })
    expect(await dumpOf(api.context.db)).not.toContain('gina-phone')
    expect(await erase({ device_guid: 'gina-tablet' })).toEqual({ devices: 1 })
    expect(await dumpOf(api.context.db)).not.toMatch(/gina/i)
  })

  it('removes several people from one audience at the same time', async () => {
    const people = Array.from({ length: 12 }, (_, i) => `usr_crowd_${i}`)
    await import_(...people.map((alias) => line(`guid-${alias}`, alias)))
    const task = await notify({ alias: people }, 'To a crowd')
    const results = await Promise.all(people.slice(1).map((alias) => erase({ alias })))
    expect(results).toEqual(people.slice(1).map(() => ({ devices: 1 })))
    expect(await taskOf(task)).toMatchObject({
      audience: { aliases: ['usr_crowd_0'] },
      message: { title: 'To a crowd' },
    })
  })

  it('erases an alias of thousands of devices', async () => {
    await import_(...Array.from({ length: 2500 }, (_, i) => line(`many-${i}`, 'usr_many')))
    const task = await notify('all' as never, 'To all again')
    expect(await erase({ alias: 'usr_many' })).toEqual({ devices: 2500 })
    expect(await dumpOf(api.context.db)).not.toMatch(/many/)
    expect(await taskOf(task)).toMatchObject({ message: { title: 'To all again' } })
    await applyRetention(api.context.db, 30)
  })

  it('leaves the same names in another application alone', async () => {
    const other = await api.createApplication('neighbour')
    await import_(line('shared-guid', 'usr_shared'))
    const body = JSON.stringify(line('shared-guid', 'usr_shared'))
    await api.call('/admin/device/import', { raw: body, appId: other.appId, token: other.token })
    expect(await erase({ alias: 'usr_shared' })).toEqual({ devices: 1 })
    expect(await query('SELECT app_id FROM device WHERE alias = $1', ['usr_shared'])).toEqual([
      { app_id: other.appId },
    ])
  })

  it('stores no vendor token for a device that is erased while its token is bound', async () => {
    const { db } = api.context
    await import_(line('hugo-phone', 'usr_hugo'))
    const deviceId = await idOf('hugo-phone')
    await erase({ alias: 'usr_hugo' })
    const late = { appId: api.appId, deviceId, channel: 'huawei', token: 'late-hugo' } as const
    await expect(bind(db, { ...late, environment: 'production' })).rejects.toBeInstanceOf(DeviceGone)
    expect(await dumpOf(db)).not.toContain('hugo')
  })

  it('needs exactly one name', async () => {
    for (const body of [{}, { alias: '' }, { alias: 'a', device_guid: 'b' }, { user_id: 1, alias: 'a' }])
      expect(await api.call('/admin/erase', { body })).toMatchObject({ code: 40002 })
    expect(await api.call('/admin/erase', { body: { alias: 'a', name: 'b' } })).toMatchObject({ code: 40001 })
  })
})
