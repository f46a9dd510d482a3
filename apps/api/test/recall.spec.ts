import type { VendorChannel } from '@herald/domain'
import { addCertificate } from '@herald/testkit/sample-tenant'
import { stubChannel } from '@herald/testkit/stub-channel'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openTestApi, type TestApi } from './harness.ts'

let api: TestApi
const names: VendorChannel[] = ['apns', 'fcm', 'xiaomi']
beforeAll(async () => {
  const adapters = Object.fromEntries(
    names.map((name) => [name, stubChannel(name, { url: 'http://127.0.0.1:9' })]),
  )
  api = await openTestApi({ certificateAdapters: adapters })
  const { db, sealer } = api.context
  for (const channel of names) await addCertificate(db, api.appId, channel, { sealer })
})
afterAll(() => api.close())

let number = 0
/** A task that was sent to one device of each channel. */
async function sent(channels: VendorChannel[], message: object = { title: 'x' }): Promise<number> {
  const alias = `recall-${number++}`
  for (const channel of channels)
    await api.call('/admin/device', {
      method: 'PUT',
      body: {
        device_guid: `${alias}-${channel}`,
        alias,
        platform: channel === 'apns' ? 'ios' : 'android',
        bindings: [{ provider: channel, device_token: `${alias}-${channel}` }],
      },
    })
  const { data } = await api.call('/push/notify', {
    body: { audience: { alias: [alias] }, setting: { distribution_strategy: 'ospush_only' }, message },
  })
  const { pool } = api.context.db
  await pool.query(`UPDATE batch SET state = 'settled', status = 's' WHERE task_id = $1`, [data.task_id])
  await pool.query('UPDATE counter SET sent = target WHERE task_id = $1', [data.task_id])
  // A task to one device is in a bundle.
  await pool.query(
    `UPDATE bundle b SET state = 'settled', status = repeat('s', b.size), settled_at = now() FROM task t WHERE t.id = $1 AND b.task_id = t.bundle`,
    [data.task_id],
  )
  return data.task_id
}
const recall = (task_id: unknown, more: object = {}) =>
  api.call('/push/task/recall', { body: { task_id, ...more } })
const storedOf = async (id: number) =>
  (await api.context.db.pool.query('SELECT * FROM task WHERE id = $1', [id])).rows[0]

describe('POST /push/task/recall', () => {
  it('tells beforehand what each channel can do, and changes nothing', async () => {
    const task = await sent(['apns', 'fcm', 'xiaomi'])
    const { code, data } = await recall(task, { dry_run: true })
    expect(code).toBe(200)
    const none = { devices: 1, can: 'replace', does: 'none', reason: expect.stringContaining('withdraws') }
    expect(data).toEqual({
      task_id: null,
      channels: [
        { channel: 'apns', ...none },
        { channel: 'fcm', ...none },
        { channel: 'xiaomi', devices: 1, can: 'withdraw', does: 'withdraw', reason: null },
      ],
    })
    const replaced = await recall(task, { dry_run: true, replace: { title: 'new' } })
    expect(replaced.data.channels.map(({ does }: { does: string }) => does)).toEqual([
      'replace',
      'replace',
      'replace',
    ])
    expect((await storedOf(task)).cancelling).toBe(false)
  })

  it('withdraws: the first task is cancelled, the recall is a task without texts', async () => {
    const task = await sent(['xiaomi', 'fcm'], {
      title: 'secret',
      body: 'secret',
      ext: { secret: 1 },
      collapse_key: 'k',
    })
    const { data } = await recall(task)
    expect(data.task_id).toBeGreaterThan(task)
    expect((await storedOf(task)).cancelling).toBe(true)
    const stored = await storedOf(data.task_id)
    expect(stored).toMatchObject({ state: 'accepted', strategy: 'nativepush_only', app_id: api.appId })
    expect(stored.message).toMatchObject({ collapseKey: 'k', recall: { taskId: task, withdraw: true } })
    expect(JSON.stringify(stored)).not.toContain('secret')
    const listed = await api.call('/push/task/list', { body: { limit: 1 } })
    expect(listed.data.list[0].task_id).toBe(data.task_id)
  })

  it('replaces: the message has the keys of the first one, its own ext, and no badge of its own', async () => {
    const task = await sent(['apns'], { title: 'a', ios: { apns_collapse_id: 'first' } })
    const answer = await api.call('/push/task/recall', {
      raw: `{"task_id":${task},"replace":{"title":"b","ios":{"sound":"s"},"ext":{"n":1.10}}}`,
      headers: { 'content-type': 'application/json' },
    })
    const { message } = await storedOf(answer.data.task_id)
    expect(message).toMatchObject({
      title: 'b',
      ext: '{"n":1.10}',
      badge: { kind: 'add', count: 0 },
      ios: { sound: 's', apnsCollapseId: 'first' },
      recall: { taskId: task },
    })
  })

  it('is done once per request id, however often and how many at a time it is called', async () => {
    const task = await sent(['xiaomi'])
    const request_id = `recall-${task}`
    const replace = { title: 'new', show_end_time: Math.floor(Date.now() / 1000) + 3600 }
    const answers = await Promise.all(Array.from({ length: 6 }, () => recall(task, { request_id, replace })))
    const ids = new Set(answers.map(({ data }) => data.task_id))
    expect(ids.size).toBe(1)
    expect(answers.filter(({ data }) => data.repeated === undefined)).toHaveLength(1)
    const [id] = [...ids]
    const stored = await storedOf(id)
    expect(stored.request_id).toBe(request_id)
    expect(stored.show_end.getTime()).toBe(replace.show_end_time * 1000)
    // Also when the checks of the first call would fail by now, and from notify.
    const late = await recall(task, { request_id, replace: { ...replace, show_end_time: 1 } })
    expect(late.data).toEqual({ ...answers[0]!.data, repeated: true })
    const pushed = await api.call('/push/notify', {
      body: { audience: 'all', setting: { request_id }, message: { title: 'x' } },
    })
    expect(pushed.data).toEqual({ task_id: id, repeated: true })
    // It is not used up by a dry run.
    const dry = await recall(task, { request_id: `${request_id}-dry`, dry_run: true })
    expect(dry.data.task_id).toBeNull()
    const real = await recall(task, { request_id: `${request_id}-dry` })
    expect(real.data.repeated).toBeUndefined()
    const { rows } = await api.context.db.pool.query(
      `SELECT detail->>'recall_id' AS id FROM audit WHERE action = 'task.recall' AND detail->>'task_id' = $1 ORDER BY id`,
      [String(task)],
    )
    expect(rows.map((row) => Number(row.id))).toEqual([id, real.data.task_id])
  })

  it('loses its text when the person of the first task is erased', async () => {
    const task = await sent(['xiaomi'], { title: 'for bob' })
    const { data } = await recall(task, {
      replace: { title: 'bob again', ext: { bob: 1 }, ios: { sound: 'bob' } },
    })
    await api.call('/admin/erase', { body: { alias: `recall-${number - 1}` } })
    const { message } = await storedOf(data.task_id)
    expect(JSON.stringify(message)).not.toContain('bob')
    expect(message).toMatchObject({ type: 'text', recall: { taskId: task }, ios: {} })
  })

  it('names the channels of a task that none of them can recall', async () => {
    const task = await sent(['apns', 'fcm'])
    expect(await recall(task)).toMatchObject({
      code: 40903,
      message: `The task ${task} was sent through apns and fcm, which cannot withdraw this message; name a message in replace to put it in its place.`,
    })
    const silent = await sent(['fcm'], { type: 'cmd', ext: { a: 1 } })
    expect((await recall(silent, { replace: { title: 'x' } })).message).toBe(
      `The task ${silent} was sent through fcm, which cannot replace this message.`,
    )
    const unsent = await api.call('/push/notify', {
      body: { audience: { alias: ['no'] }, message: { title: 'x' } },
    })
    expect((await recall(unsent.data.task_id)).message).toContain('was not sent to any device')
  })

  it('takes a message out of the inbox in which it waits', async () => {
    const alias = `recall-${number++}`
    await api.call('/admin/device', {
      method: 'PUT',
      body: {
        device_guid: alias,
        alias,
        platform: 'ios',
        bindings: [{ provider: 'apns', device_token: alias }],
      },
    })
    const notify = async (distribution_strategy: string) =>
      (
        await api.call('/push/notify', {
          body: {
            audience: { alias: [alias] },
            setting: { distribution_strategy },
            message: { title: 'x' },
          },
        })
      ).data.task_id
    const task = await notify('nativepush_only')
    const channel = { channel: 'nativepush', devices: 1, can: 'withdraw', does: 'withdraw', reason: null }
    expect((await recall(task, { dry_run: true })).data.channels).toEqual([channel])
    // Nothing is put in the place of a message that was not sent.
    const replacing = await recall(task, { replace: { title: 'y' } })
    expect(replacing).toMatchObject({
      code: 40903,
      message: expect.stringContaining('was not sent to any device'),
    })
    expect((await storedOf(task)).cancelling).toBe(false)
    const { code, data } = await recall(task)
    expect([code, data.channels]).toEqual([200, [channel]])
    expect((await storedOf(task)).cancelling).toBe(true)
  })

  const update = { event: 'update', content_state: { stage: 'baking' } }
  const start = { ...update, event: 'start', attributes_type: 'Order', alert: { title: 'a', body: 'b' } }

  it('refuses to recall a Live Activity, and does not cancel its task', async () => {
    const task = await sent(['apns'], { ios: { live_activity: start } })
    const reason = 'A Live Activity is changed or ended by its next event.'
    for (const more of [{}, { replace: { title: 'x' } }]) {
      const { data } = await recall(task, { ...more, dry_run: true })
      expect(data.channels).toEqual([{ channel: 'apns', devices: 1, can: 'none', does: 'none', reason }])
      expect((await recall(task, more)).code).toBe(40903)
    }
    expect((await storedOf(task)).cancelling).toBe(false)
  })

  it('refuses a Live Activity as the replacement, and does not cancel the task', async () => {
    const task = await sent(['apns'])
    for (const live_activity of [update, start])
      for (const dry_run of [true, false])
        expect(await recall(task, { replace: { ios: { live_activity } }, dry_run })).toMatchObject({
          code: 40002,
          message: expect.stringMatching(/^replace\.ios\.live_activity must be blank: /),
        })
    expect((await storedOf(task)).cancelling).toBe(false)
  })

  it('refuses a recall of a recall, of an unknown task and of one of another application', async () => {
    const task = await sent(['xiaomi'])
    const { data } = await recall(task)
    expect((await recall(data.task_id)).message).toContain(`recall the task ${task} again`)
    expect((await recall(1)).code).toBe(40401)
    expect((await recall('9223372036854775807')).code).toBe(40401)
    const other = await api.createApplication('recall-other')
    const foreign = await api.call('/push/task/recall', {
      body: { task_id: task },
      appId: other.appId,
      token: other.token,
    })
    expect(foreign.code).toBe(40401)
  })

  it.each([
    [{ type: 'cmd', ext: { a: 1 } }, 40002, 'replace.type'],
    [{ title: 'x', show_begin_time: 4_000_000_000 }, 40002, 'replace.show_begin_time'],
    [{ title: 'x', collapse_key: 'k' }, 40002, 'replace.collapse_key'],
    [{ title: 'x', ios: { apns_collapse_id: 'k' } }, 40002, 'replace.ios.apns_collapse_id'],
    [{ title: 'x', show_end_time: 1 }, 40002, 'show_end_time'],
    [{ colour: 'red' }, 40001, 'colour'],
    [{ type: 'text' }, 40004, 'replace'],
  ])('refuses %j as the replacement', async (replace, code, about) => {
    const answer = await recall(await sent(['xiaomi']), { replace })
    expect(answer.code).toBe(code)
    expect(answer.message).toContain(about)
  })
})
