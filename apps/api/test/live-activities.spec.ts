import { activitiesPerDevice } from '@herald/db/devices'
import { applyRetention } from '@herald/db/tasks'
import { newSigningKey } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openTestApi, type TestApi } from './harness.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi()
})
afterAll(() => api.close())

let made = 0
const newToken = () => (++made).toString(16).padStart(80, 'b')

async function phone(guid: string): Promise<string> {
  const { push_token } = await api.client.putDevice({
    device_guid: guid,
    platform: 'ios',
    bindings: [{ provider: 1, device_token: newToken() }],
  })
  return push_token
}

const post = (path: string, body: object) => api.call(path, { token: null, body })
const rowsOf = async (guid: string) =>
  (
    await api.context.db.pool.query<{ kind: string; name: string; token: string }>(
      `SELECT a.kind, a.name, a.token FROM activity a JOIN device d ON d.id = a.device_id
       WHERE d.guid = $1 ORDER BY a.kind, a.name`,
      [guid],
    )
  ).rows

describe('POST /user/activity', () => {
  it('binds, replaces and removes tokens with the push token alone', async () => {
    const push_token = await phone('anna')
    const [first, second, start] = [newToken(), newToken(), newToken()]
    const bind = (body: object) => post('/user/activity', { push_token, ...body })
    expect((await bind({ activity_id: 'order-1', token: first.toUpperCase() })).data).toEqual({ bound: true })
    await bind({ activity_id: 'order-1', token: second })
    await bind({ attributes_type: 'OrderAttributes', token: start })
    expect(await rowsOf('anna')).toEqual([
      { kind: 'activity', name: 'order-1', token: second },
      { kind: 'start', name: 'OrderAttributes', token: start },
    ])
    const remove = (body: object) => post('/user/activity/remove', { push_token, ...body })
    expect((await remove({ activity_id: 'order-1' })).data).toEqual({ removed: true })
    expect((await remove({ activity_id: 'order-1' })).data).toEqual({ removed: false })
    expect((await remove({ attributes_type: 'OrderAttributes' })).data).toEqual({ removed: true })
    expect(await rowsOf('anna')).toEqual([])
  })

  it('moves a token that another device or name has', async () => {
    const [bert, carl] = [await phone('bert'), await phone('carl')]
    const token = newToken()
    await post('/user/activity', { push_token: bert, activity_id: 'a', token })
    await post('/user/activity', { push_token: carl, activity_id: 'b', token })
    expect([await rowsOf('bert'), await rowsOf('carl')]).toEqual([
      [],
      [{ kind: 'activity', name: 'b', token }],
    ])
  })

  it.each<[object, string]>([
    [{ token: 'ab'.repeat(40) }, 'activity_id must not be blank, unless attributes_type is set.'],
    [
      { activity_id: 'a', attributes_type: 'b', token: 'ab'.repeat(40) },
      'activity_id cannot be set beside attributes_type.',
    ],
    [{ activity_id: 'a', token: 'xyz' }, 'token'],
    [{ activity_id: 'a' }, 'token'],
    [{ activity_id: 'x'.repeat(256), token: 'ab'.repeat(40) }, 'activity_id'],
  ])('refuses %j', async (body, message) => {
    const answer = await post('/user/activity', { push_token: await phone('dora'), ...body })
    expect(answer.code).toBe(40002)
    expect(answer.message).toContain(message)
  })

  it('keeps the newest tokens of a device that has too many', async () => {
    const push_token = await phone('emil')
    for (let i = 0; i <= activitiesPerDevice; i++)
      await post('/user/activity', { push_token, activity_id: `a${i}`, token: newToken() })
    const names = (await rowsOf('emil')).map(({ name }) => name)
    expect(names).toHaveLength(activitiesPerDevice)
    expect([names.includes('a0'), names.includes(`a${activitiesPerDevice}`)]).toEqual([false, true])
  })

  it('forgets tokens of activities with the person, and all tokens with the device', async () => {
    const push_token = await phone('frida')
    const bind = (more: object) => post('/user/activity', { push_token, ...more, token: newToken() })
    await bind({ activity_id: 'order-2' })
    await bind({ attributes_type: 'Order' })
    await api.client.putDevice({ device_guid: 'frida', alias: 'frida' })
    expect(await rowsOf('frida')).toHaveLength(2)
    await api.client.putDevice({ device_guid: 'frida', alias: 'somebody else' })
    expect((await rowsOf('frida')).map(({ name }) => name)).toEqual(['Order'])
    await bind({ activity_id: 'order-3' })
    await api.call('/admin/erase', { body: { device_guid: 'frida' } })
    expect(await rowsOf('frida')).toEqual([])
  })

  it('forgets old tokens', async () => {
    const push_token = await phone('gerd')
    await post('/user/activity', { push_token, activity_id: 'order-4', token: newToken() })
    await post('/user/activity', { push_token, attributes_type: 'Order', token: newToken() })
    const later = async (days: number) => {
      await api.context.db.pool.query('UPDATE activity SET bound_at = now() - make_interval(days => $1)', [
        days,
      ])
      await applyRetention(api.context.db, 30)
    }
    await later(6)
    expect(await rowsOf('gerd')).toHaveLength(2)
    await later(8)
    expect((await rowsOf('gerd')).map(({ name }) => name)).toEqual(['Order'])
    await later(181)
    expect(await rowsOf('gerd')).toEqual([])
  })
})

describe('a push to a Live Activity', () => {
  const live_activity = { event: 'update', content_state: { stage: 'baking' } }
  const start = {
    event: 'start',
    content_state: { stage: 'accepted' },
    attributes_type: 'Order',
    alert: { title: 'a', body: 'b' },
  }
  const notify = (body: object) => api.call('/push/notify', { body })

  it('goes to the devices that show the activity, over their vendor only', async () => {
    const [one, two] = [await phone('hans'), await phone('ina')]
    await phone('jan')
    for (const push_token of [one, two])
      await post('/user/activity', { push_token, activity_id: 'match-7', token: newToken() })
    const { data } = await notify({
      audience: { activity: ['match-7', 'unknown'] },
      message: { ios: { live_activity } },
    })
    const { rows } = await api.context.db.pool.query(
      `SELECT t.strategy, t.audience, t.message -> 'ios' -> 'liveActivity' AS activity,
         (SELECT sum(target)::int FROM counter c WHERE c.task_id = t.id) AS target, t.unreachable::int
       FROM task t WHERE t.id = $1`,
      [data.task_id],
    )
    expect(rows[0]).toMatchObject({
      strategy: 'ospush_only',
      audience: { kind: 'activity', activities: ['match-7', 'unknown'] },
      activity: { event: 'update', content_state: '{"stage":"baking"}' },
    })
    expect((rows[0].target ?? 0) + rows[0].unreachable).toBe(2)
  })

  it.each<[object, string]>([
    [
      { audience: 'all', message: { ios: { live_activity } } },
      'audience must have the key activity if the event of message.ios.live_activity is update.',
    ],
    [
      { audience: { activity: ['a'] }, message: { title: 'x' } },
      'audience.activity requires message.ios.live_activity.',
    ],
    [
      { audience: { activity: ['a'] }, message: { ios: { live_activity: start } } },
      'audience.activity cannot be used if the event of message.ios.live_activity is start.',
    ],
    [
      {
        audience: { activity: ['a'] },
        setting: { distribution_strategy: 'combined' },
        message: { ios: { live_activity } },
      },
      'setting.distribution_strategy must be ospush_only, or blank, if message.ios.live_activity is set.',
    ],
    [
      { audience: { activity: ['a'] }, message: { title: 'x', ios: { live_activity } } },
      'message.ios.live_activity cannot be sent with title',
    ],
    [
      { audience: 'all', message: { title: 'x', ios: { push_type: 'voip', sound: 'y' } } },
      'message.ios.sound cannot be set if ios.push_type is voip.',
    ],
    [
      { audience: 'all', message: { title: 'x', urgent: true, fcm: { priority: 'normal' } } },
      'message.fcm.priority cannot be NORMAL if urgent is true.',
    ],
    [
      { audience: 'all', message: { title: 'x', ios: { critical: { volume: 2 } } } },
      'message.ios.critical.volume must be at most 1.',
    ],
    [
      { audience: 'all', message: { title: 'x', fcm: { color: 'red' } } },
      'message.fcm.color must be a color of the form #rrggbb.',
    ],
  ])('%j is refused', async (body, message) => {
    const answer = await notify(body)
    expect(answer.code).toBe(40002)
    expect(answer.message).toContain(message)
  })

  it('can be explained', async () => {
    const push_token = await phone('karl')
    const answer = await api.call('/push/explain', {
      body: { message: { ios: { live_activity } }, push_token },
    })
    expect(answer.code).toBe(200)
  })

  it.each<[object]>([
    [{ audience: 'all', message: { ios: { live_activity } } }],
    [{ audience: { activity: ['a'] }, message: { title: 'x' } }],
    [
      {
        audience: { activity: ['a'] },
        setting: { distribution_strategy: 'combined' },
        message: { ios: { live_activity } },
      },
    ],
  ])('%j is refused by explain and by the count of the audience, too', async (body) => {
    const push_token = await phone('kurt')
    const refused = await notify(body)
    expect(refused.code).toBe(40002)
    const explained = await api.call('/push/explain', { body: { ...body, push_token } })
    const counted = await api.call('/push/audience/count', { body })
    expect([explained.code, explained.message]).toEqual([40002, refused.message])
    expect([counted.code, counted.message]).toEqual([40002, refused.message])
  })

  it('has an audience that can be counted without a message', async () => {
    const counted = await api.call('/push/audience/count', { body: { audience: { activity: ['a'] } } })
    expect(counted.code).toBe(200)
  })

  it('is explained as sent to nobody if the device has no token for it', async () => {
    const certificate = newSigningKey()
    const saved = await api.call('/admin/push/certificate', {
      method: 'PUT',
      body: { provider: 1, app_id: 'com.a.b', app_key: 'ABC123DEFG', app_secret: 'TEAM123456', certificate },
    })
    expect(saved.code).toBe(200)
    const push_token = await phone('lara')
    const explained = async (body: object) =>
      (await api.call('/push/explain', { body: { ...body, push_token } })).data
    const starting = { message: { ios: { live_activity: start } } }
    const updating = { audience: { activity: ['order-9'] }, message: { ios: { live_activity } } }
    const nothing = expect.stringMatching(/^The device has no token .* nothing is sent to it\.$/)
    expect(await explained(starting)).toMatchObject({ channel: 'apns', notes: [nothing] })
    expect(await explained(updating)).toMatchObject({ channel: 'apns', notes: [nothing] })
    expect(await explained({ message: updating.message })).toMatchObject({ channel: 'apns', notes: [] })
    await post('/user/activity', { push_token, attributes_type: 'Order', token: newToken() })
    await post('/user/activity', { push_token, activity_id: 'order-9', token: newToken() })
    expect(await explained(starting)).toMatchObject({ channel: 'apns', notes: [] })
    expect(await explained(updating)).toMatchObject({ channel: 'apns', notes: [] })
  })

  it('keeps the digits of large numbers: the app decodes them as integers', async () => {
    const raw =
      '{"audience":{"activity":["match-8"]},"message":{"ios":{"live_activity":{"event":"update","content_state":{"id":9007199254740993}}}}}'
    const headers = { 'content-type': 'application/json' }
    const { data } = await api.call('/push/notify', { raw, headers })
    const { rows } = await api.context.db.pool.query(
      "SELECT message #>> '{ios,liveActivity,content_state}' AS state FROM task WHERE id = $1",
      [data.task_id],
    )
    expect(rows[0].state).toBe('{"id":9007199254740993}')
  })
})
