import { randomBytes } from 'node:crypto'
import { findImbalances } from '@herald/db/readings'
import { until } from '@herald/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { openTestApi, type TestApi } from './harness.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi()
})
afterAll(() => api.close())
afterEach(async () => expect(await findImbalances(api.context.db)).toEqual([]))

const put = (body: unknown) => api.call('/admin/device', { method: 'PUT', body })
const batch = (list: unknown[]) => api.call('/admin/device/batch', { body: { list } })
const importLines = (lines: object[]) =>
  api.call('/admin/device/import', {
    method: 'POST',
    raw: lines.map((one) => JSON.stringify(one)).join('\n'),
  })
const device = async (device_guid: string) =>
  (await api.call('/admin/device/list', { body: { device_guid } })).data.list[0]
/** Text that Postgres cannot compress. */
const noise = (length: number) => randomBytes(length).toString('base64url').slice(0, length)
const sql = async (text: string, values: unknown[] = []) =>
  (await api.context.db.pool.query(text, values)).rows

/** Sends to the audience on the native channel; the devices are offline, so the message waits in their inboxes. */
async function waiting(audience: unknown): Promise<{ taskId: number; guids(): Promise<string[]> }> {
  const { data } = await api.call('/push/notify', {
    body: { audience, setting: { distribution_strategy: 'nativepush_only' }, message: { title: 'x' } },
  })
  const guids = async () =>
    (
      await sql(
        'SELECT d.guid FROM inbox i JOIN device d ON d.id = i.device_id WHERE i.task_id = $1 ORDER BY 1',
        [data.task_id],
      )
    ).map((row) => row.guid)
  return { taskId: data.task_id, guids }
}

const all = {
  device_guid: 'full',
  platform: 'ios',
  alias: 'u-1',
  tags: ['a', 'b'],
  bindings: [{ provider: 1, device_token: 'ab'.repeat(32), environment: 0, bundle_id: 'com.x' }],
  attributes: { plan: 'pro', age: 41, score: 0.5, big: 7, on: true, text: '' },
  locale: 'zh_CN',
  timezone: 'Asia/Shanghai',
  app_version: '3.2.0',
  enabled: true,
}

describe('PUT /admin/device', () => {
  it('creates a device with every field and answers its push token', async () => {
    const { data } = await put(all)
    expect(data).toEqual({ push_token: expect.any(String), created: true })
    expect(await device('full')).toMatchObject({
      push_token: data.push_token,
      platform: 'ios',
      alias: 'u-1',
      tags: ['a', 'b'],
      bindings: [{ channel: 'apns', environment: 0, bundle_id: 'com.x' }],
      attributes: all.attributes,
      locale: 'zh-CN',
      timezone: 'Asia/Shanghai',
      app_version: '3.2.0',
      enabled: true,
      last_seen: null,
      user_id: null,
    })
    expect((await put(all)).data).toEqual({ push_token: data.push_token, created: false })
  })

  it('leaves absent fields as they are, and clears those that are null', async () => {
    const before = await device('full')
    await put({ device_guid: 'full' })
    expect(await device('full')).toEqual(before)
    await put({ device_guid: 'full', app_version: '4.0' })
    expect(await device('full')).toEqual({ ...before, app_version: '4.0' })
    await put({ device_guid: 'full', enabled: false })
    await put({
      device_guid: 'full',
      platform: null,
      alias: null,
      tags: null,
      bindings: null,
      attributes: null,
      locale: null,
      timezone: null,
      app_version: null,
      enabled: null,
    })
    expect(await device('full')).toMatchObject({
      push_token: before.push_token,
      platform: null,
      alias: null,
      tags: [],
      bindings: [],
      attributes: null,
      locale: null,
      timezone: null,
      app_version: null,
      enabled: true,
    })
    expect(await sql(`SELECT reason FROM retired_token WHERE token = $1`, ['ab'.repeat(32)])).toEqual([
      { reason: 'unbound' },
    ])
  })

  it('takes a blank value as null', async () => {
    await put({ device_guid: 'blank', alias: 'x', tags: ['t'], attributes: { a: 1 } })
    await put({ device_guid: 'blank', alias: ' ', tags: [], attributes: {}, bindings: [] })
    expect(await device('blank')).toMatchObject({ alias: null, tags: [], attributes: null })
  })

  it('adds and removes single tags, and refuses too many', async () => {
    await put({ device_guid: 'tags', add_tags: ['a', 'b', 'a'] })
    await put({ device_guid: 'tags', add_tags: ['c'], remove_tags: ['a', 'never-there'] })
    expect((await device('tags')).tags).toEqual(['b', 'c'])
    expect(await sql(`SELECT 1 FROM tag WHERE name = 'never-there'`)).toEqual([])
    const many = Array.from({ length: 99 }, (_, i) => `many-${i}`)
    expect(await put({ device_guid: 'tags', add_tags: many, alias: 'not-set' })).toMatchObject({
      code: 40002,
      message: 'The device would have more than 100 tags.',
    })
    expect(await device('tags')).toMatchObject({ tags: ['b', 'c'], alias: null })
    expect((await put({ device_guid: 'tags', add_tags: many.slice(1) })).code).toBe(200)
    expect((await device('tags')).tags).toHaveLength(100)
    expect((await put({ device_guid: 'tags', add_tags: ['b'] })).code).toBe(200)
  })

  it('changes single bindings, and moves a token from another device', async () => {
    await put({
      device_guid: 'bound-1',
      bindings: [
        { provider: 2, device_token: 'hw-put' },
        { provider: 'xiaomi', device_token: 'A'.repeat(24) },
      ],
    })
    expect((await device('bound-1')).platform).toBe('android')
    await put({ device_guid: 'bound-2', bindings: [{ provider: 2, device_token: 'hw-put' }] })
    expect((await device('bound-1')).bindings).toMatchObject([{ channel: 'xiaomi' }])
    expect((await device('bound-2')).bindings).toMatchObject([{ channel: 'huawei', device_token: 'hw-put' }])
    await put({ device_guid: 'bound-1', bindings: [{ provider: 3, device_token: null }] })
    expect((await device('bound-1')).bindings).toEqual([])
    expect(
      await sql(`SELECT token, reason FROM retired_token WHERE token IN ('hw-put', $1) ORDER BY 1`, [
        'A'.repeat(24),
      ]),
    ).toEqual([
      { token: 'A'.repeat(24), reason: 'unbound' },
      { token: 'hw-put', reason: 'moved' },
    ])
  })

  it('keeps integers beyond 2^53 exact', async () => {
    const raw = '{"device_guid":"exact","attributes":{"id":9007199254740993}}'
    await api.call('/admin/device', { method: 'PUT', raw, headers: { 'content-type': 'application/json' } })
    const { text } = await api.call('/admin/device/list', { body: { device_guid: 'exact' } })
    expect(text).toContain('"id":9007199254740993')
    await api.call('/admin/device/import', { method: 'POST', raw: raw.replace('740993', '740995') })
    const again = await api.call('/admin/device/list', { body: { device_guid: 'exact' } })
    expect(again.text).toContain('"id":9007199254740995')
  })

  it('replaces the push token when the owner changes, and clears what was the owner’s', async () => {
    const first = await api.client.createUser({ username: 'put-1', password: 'password' })
    const second = await api.client.createUser({ username: 'put-2', password: 'password' })
    const made = await put({ device_guid: 'owned', tags: ['t'], alias: 'x' })
    const taken = await put({ device_guid: 'owned', user_id: first.user_id })
    expect(taken.data).toEqual({ push_token: made.data.push_token, created: false })
    expect(await device('owned')).toMatchObject({ alias: 'x', tags: ['t'] })
    const moved = await put({ device_guid: 'owned', user_id: second.user_id, add_tags: ['u'] })
    expect(moved.data.push_token).not.toBe(made.data.push_token)
    expect(await device('owned')).toMatchObject({
      user_id: second.user_id,
      push_token: moved.data.push_token,
      alias: null,
      tags: ['u'],
    })
    const free = await put({ device_guid: 'owned', user_id: null })
    expect(free.data.push_token).not.toBe(moved.data.push_token)
    expect(await device('owned')).toMatchObject({ user_id: null, tags: [] })
  })

  it('does not deliver what waits for a person who signed out', async () => {
    await put({ device_guid: 'shared', alias: 'anna' })
    const { guids } = await waiting({ alias: ['anna'] })
    expect(await guids()).toEqual(['shared'])
    await put({ device_guid: 'shared', alias: 'anna', app_version: '2' })
    expect(await guids()).toEqual(['shared'])
    await put({ device_guid: 'shared', alias: null })
    expect(await guids()).toEqual([])
    expect((await waiting({ alias: ['anna'] }).then(({ guids }) => guids())).length).toBe(0)
  })

  it.each([
    [{}, 40002, 'device_guid must be a non-blank string.'],
    [[], 40001, 'The device is not a JSON object.'],
    [{ device_guid: 'x', colour: 1 }, 40001, 'colour is not a field of a device.'],
    [{ device_guid: 'x', user_id: 424242 }, 40401, 'user_id 424242 does not exist.'],
    [{ device_guid: 'x', tags: ['a'], add_tags: ['b'] }, 40002, /^tags replaces all tags/],
    [{ device_guid: 'x', add_tags: ['b'], remove_tags: ['b'] }, 40002, /^b is in both/],
    [{ device_guid: 'x', timezone: 'Mars/Olympus' }, 40002, /^timezone must be an IANA name/],
    [{ device_guid: 'x', timezone: '+08:00' }, 40002, /^timezone must be an IANA name/],
    [{ device_guid: 'x', locale: '!' }, 40002, /^locale must be a language tag/],
    [{ device_guid: 'x', enabled: 'no' }, 40002, 'enabled must be true or false.'],
    [{ device_guid: 'x', attributes: [1] }, 40002, 'attributes must be an object.'],
    [{ device_guid: 'x', attributes: { a: { b: 1 } } }, 40002, /^attributes\.a must be a text/],
    [{ device_guid: 'x', attributes: { a: null } }, 40002, /^attributes\.a must be a text/],
    [{ device_guid: 'x', attributes: { a: 'x'.repeat(257) } }, 40002, /at most 256 characters/],
    [
      {
        device_guid: 'x',
        attributes: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, i])),
      },
      40002,
      'attributes must have at most 20 keys.',
    ],
    [{ device_guid: 'x', bindings: [{ provider: 'nativepush', device_token: 'x' }] }, 40002, /provider must/],
    [{ device_guid: 'x', bindings: [{ provider: 2, device_token: 'x', y: 1 }] }, 40001, /y is not a field/],
  ])('refuses %j', async (body, code, message) => {
    expect(await put(body)).toMatchObject({
      code,
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    })
    expect(await device('x')).toBeUndefined()
  })

  it('of many devices at once answers each call for itself', async () => {
    const guids = Array.from({ length: 300 }, (_, i) => `burst-${i % 150}`)
    const answers = await Promise.all(
      guids.map((guid, i) =>
        put({ device_guid: guid, add_tags: [`n${i < 150 ? 0 : 1}`], user_id: i === 7 ? 999_999 : undefined }),
      ),
    )
    expect(answers.filter(({ code }) => code === 200)).toHaveLength(299)
    expect(answers[7]).toMatchObject({ code: 40401 })
    expect(answers.filter(({ data }) => data?.created)).toHaveLength(150)
    for (const guid of ['burst-0', 'burst-149']) {
      const both = answers.filter((_, i) => guids[i] === guid)
      expect(new Set(both.map(({ data }) => data.push_token)).size).toBe(1)
      expect(await device(guid)).toMatchObject({ push_token: both[0]!.data.push_token, tags: ['n0', 'n1'] })
    }
  })

  it('shares a commit with the calls that arrive at the same time, and not their failures', async () => {
    const { devices } = api.deps
    const results = await Promise.allSettled(
      Array.from({ length: 200 }, (_, i) =>
        // Postgres refuses the attributes of one, which the API would have refused before.
        devices.put(api.appId, { guid: `group-${i}`, attributes: i === 5 ? 'not json' : undefined }),
      ),
    )
    expect(results.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))).toEqual([5])
    await Promise.all(
      Array.from({ length: 200 }, (_, i) => devices.put(api.appId, { guid: `commit-${i}`, alias: 'x' })),
    )
    expect(
      await sql(
        `SELECT count(*)::int AS devices, count(DISTINCT xmin::text)::int AS commits FROM device WHERE guid LIKE 'commit-%'`,
      ),
    ).toEqual([{ devices: 200, commits: 1 }])
  })
})

describe('POST /admin/device/batch', () => {
  it('answers one entry each, in order, and keeps the good ones', async () => {
    const { data } = await batch([
      { device_guid: 'batch-1', alias: 'one' },
      { device_guid: 'batch-2', user_id: 424242 },
      'nonsense',
      { device_guid: 'batch-3', platform: 'windows' },
      { device_guid: 'batch-4' },
    ])
    expect(data.list).toEqual([
      { push_token: expect.any(String), created: true },
      { code: 40401, message: 'user_id 424242 does not exist.' },
      { code: 40001, message: 'The device is not a JSON object.' },
      { code: 40002, message: 'platform must be one of ios, android, harmony.' },
      { push_token: expect.any(String), created: true },
    ])
    expect(await device('batch-1')).toMatchObject({ alias: 'one', push_token: data.list[0].push_token })
    expect(await device('batch-2')).toBeUndefined()
  })

  it('keeps the good entries beside text that cannot be stored', async () => {
    const { data } = await batch([
      { device_guid: 'text-1', attributes: { 'k\0': 1 } },
      { device_guid: 'text-2' },
      { device_guid: 'text-3', alias: 'a\0' },
      { device_guid: 'text-4', alias: '\ud800' },
      { device_guid: 'text-5', attributes: { k: '\udc00' } },
      { device_guid: 'text-6', 'al\0ias': 'x' },
      { device_guid: 'text-7', tags: ['\0'] },
      { device_guid: 'text-8', bindings: [{ provider: 2, device_token: 'token\0' }] },
      { device_guid: 'text-9', locale: '\0', timezone: '\0' },
      // Longer than an index of Postgres allows.
      { device_guid: 'text-10', bindings: [{ provider: 7, device_token: `a:${noise(4000)}` }] },
    ])
    expect(data.list.map((entry: { code?: number }) => entry.code)).toEqual([
      40002,
      undefined,
      40002,
      40002,
      40002,
      40001,
      40002,
      40002,
      40002,
      40002,
    ])
    expect(data.list[0].message).toBe('A key of attributes must not contain control characters.')
    expect(await device('text-2')).toBeDefined()
    for (const nth of [1, 3, 4, 5, 6, 7, 8, 9, 10]) expect(await device(`text-${nth}`)).toBeUndefined()
    const { push_token } = data.list[1]
    expect(
      (
        await api.call('/user/token/bind', {
          body: { push_token, provider: 7, device_token: `a:${noise(4000)}` },
        })
      ).code,
    ).toBe(40002)
    // The longest that is accepted can be stored.
    const longest = [{ provider: 7, device_token: `a:${noise(2046)}` }]
    expect((await batch([{ device_guid: 'text-11', bindings: longest }])).data.list).toEqual([
      { push_token: expect.any(String), created: true },
    ])
  })

  it('applies entries for the same device or token in order', async () => {
    const token = (device_token: string) => [{ provider: 2, device_token }]
    const { data } = await batch([
      { device_guid: 'order-z', alias: 'first', add_tags: ['a', 'b'], bindings: token('order-1') },
      { device_guid: 'order-a', bindings: token('order-1') },
      { device_guid: 'order-z', alias: null, remove_tags: ['a'], bindings: token('order-2') },
      { device_guid: 'order-z', add_tags: ['c'] },
    ])
    expect(data.list.map(({ created }: { created: boolean }) => created)).toEqual([true, true, false, false])
    expect(await device('order-z')).toMatchObject({
      alias: null,
      tags: ['b', 'c'],
      bindings: [{ device_token: 'order-2' }],
    })
    expect(await device('order-a')).toMatchObject({ bindings: [{ device_token: 'order-1' }] })
  })

  it('takes two forms of a token for the same one, as an import does', async () => {
    const lower = 'cafe'.repeat(16)
    const bound = (device_guid: string, device_token: string) => ({
      device_guid,
      bindings: [{ provider: 1, device_token }],
    })
    const tokens = async () => {
      const read = async (guid: string) =>
        ((await device(guid)).bindings as { device_token: string }[]).map((one) => one.device_token)
      return [await read('form-1'), await read('form-2')]
    }
    await batch([bound('form-1', lower.toUpperCase()), bound('form-2', lower)])
    expect(await tokens()).toEqual([[], [lower]])
    await importLines([bound('form-2', lower), bound('form-1', lower.toUpperCase())])
    expect(await tokens()).toEqual([[lower], []])
  })

  it('takes a thousand devices in one commit, and no more', async () => {
    const list = Array.from({ length: 1000 }, (_, i) => ({
      device_guid: `thousand-${i}`,
      alias: `person-${i}`,
      attributes: { n: i },
      tags: ['thousand'],
      bindings: [{ provider: 2, device_token: `thousand-token-${i}` }],
    }))
    const { data } = await batch(list)
    expect(data.list.filter((entry: { created: boolean }) => entry.created)).toHaveLength(1000)
    expect(
      await sql(`SELECT count(DISTINCT xmin::text)::int AS commits FROM device WHERE guid LIKE 'thousand-%'`),
    ).toEqual([{ commits: 1 }])
    expect((await batch([...list, { device_guid: 'one-more' }])).code).toBe(40002)
    expect((await batch([])).code).toBe(40002)
  })

  it('runs concurrently with others on the same devices, tokens and tags without deadlock or loss', async () => {
    const count = 400
    const run = (shift: number) =>
      batch(
        Array.from({ length: count }, (_, i) => {
          const n = (i * 7 + shift * 101) % count
          return {
            device_guid: `busy-${n}`,
            add_tags: [`busy-${shift}`],
            bindings: [{ provider: 2, device_token: `busy-token-${(n + shift) % count}` }],
          }
        }),
      )
    const members = (shift: number) =>
      api.call('/admin/tag/member', {
        body: {
          tag: 'busy-member',
          add: Array.from({ length: 100 }, (_, i) => ({
            device_guid: `busy-${(i * 13 + shift * 7) % count}`,
          })),
        },
      })
    const answers = await Promise.all([0, 1, 2, 3, 4, 5].flatMap((shift) => [run(shift), members(shift)]))
    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 200))
    const created = answers.flatMap(({ data }) => data.list ?? []).filter((entry) => entry.created)
    expect(created).toHaveLength(count)
    const [row] = await sql(
      `SELECT count(*)::int AS devices, (SELECT count(*)::int FROM device_tag JOIN tag ON tag.id = tag_id
         WHERE name ~ '^busy-[0-9]$') AS tags FROM device WHERE guid LIKE 'busy-%'`,
    )
    expect(row).toEqual({ devices: count, tags: 6 * count })
  })
})

describe('an import line', () => {
  it('takes the same fields, clears with null, and counts what changed nothing', async () => {
    const line = { ...all, device_guid: 'line', bindings: [{ provider: 2, device_token: 'hw-line' }] }
    expect((await importLines([line])).data).toMatchObject({ created: 1, updated: 0, unchanged: 0 })
    const before = await device('line')
    expect(before).toMatchObject({ attributes: all.attributes, locale: 'zh-CN', alias: 'u-1' })
    expect((await importLines([line, { device_guid: 'line' }])).data).toMatchObject({
      updated: 0,
      unchanged: 2,
    })
    expect(await device('line')).toEqual(before)
    const { data } = await importLines([
      { device_guid: 'line', alias: null },
      { device_guid: 'line', remove_tags: ['a'], add_tags: ['c'] },
      { device_guid: 'line', attributes: { plan: 'free' } },
      { device_guid: 'line', bindings: null },
    ])
    expect(data).toMatchObject({ updated: 4, unchanged: 0, failed: 0 })
    expect(await device('line')).toMatchObject({
      alias: null,
      tags: ['b', 'c'],
      attributes: { plan: 'free' },
      bindings: [],
    })
  })
})

describe('PUT and an import line read the same text', () => {
  const put = (raw: string) =>
    api.call('/admin/device', { method: 'PUT', raw, headers: { 'content-type': 'application/json' } })

  it.each<[text: string, code: number, problem: string]>([
    ['{"device_guid":"same","alias":"a","alias":"b"}', 40001, 'he field alias occurs twice.'],
    ['{"device_guid":"same","device_guid":"same"}', 40001, 'he field device_guid occurs twice.'],
    ['{"device_guid":"same","alia\\u0073":"a","alias":"b"}', 40001, 'he field alias occurs twice.'],
    ['{"device_guid":"same","tags":["a:b"],"tags":["a"]}', 40001, 'he field tags occurs twice.'],
    ['{"device_guid":"same","attributes":{"a":1,"a":2}}', 40001, 'he field attributes.a occurs twice.'],
    [
      '{"device_guid":"same","bindings":[{"provider":7,"device_token":"a:b","device_token":"c:d"}]}',
      40001,
      'he field bindings[].device_token occurs twice.',
    ],
    [
      '{"device_guid":"same","attributes":{"n":9223372036854775808}}',
      40002,
      'attributes.n is not a 64-bit integer.',
    ],
    [
      '{"device_guid":"same","attributes":{"n":-9223372036854775809}}',
      40002,
      'attributes.n is not a 64-bit integer.',
    ],
  ])('and refuse %s', async (text, code, problem) => {
    expect(await put(text)).toMatchObject({ code, message: expect.stringContaining(problem) })
    const { data } = await api.call('/admin/device/import', { method: 'POST', raw: text })
    expect(data).toMatchObject({ failed: 1, errors: [{ error: expect.stringContaining(problem) }] })
    expect(await device('same')).toBeUndefined()
  })

  it.each([
    '{"device_guid":"both","attributes":{"n":9223372036854775807,"m":-9223372036854775808,"big":1e300}}',
    '{"device_guid":"both","attributes":{"a:b":1},"alias":"c:d","tags":["a:b","\\u003a"]}',
    '{ "device_guid" : "both", "bindings" : [ { "provider" : 7, "device_token" : "a:b" } ] }',
    '\ufeff{"device_guid":"both","alias":"after a byte order mark"}',
  ])('and accept %s', async (text) => {
    expect((await put(text)).code).toBe(200)
    const { data } = await api.call('/admin/device/import', { method: 'POST', raw: text })
    expect(data).toMatchObject({ lines: 1, created: 0, failed: 0 })
  })
})

describe('a binding that cannot be used', () => {
  const cjk = Array.from(randomBytes(2000), (byte) => String.fromCharCode(0x4e00 + byte)).join('')
  const long = `${cjk}_${'0a'.repeat(16)}`

  it.each<[name: string, fields: object, problem: string]>([
    [
      'of a platform that the vendor does not serve',
      { platform: 'android', bindings: [{ provider: 1, device_token: 'ab'.repeat(32) }] },
      'platform must be ios for provider 1',
    ],
    [
      'with a token that is too long for an index',
      { bindings: [{ provider: 6, device_token: long }] },
      'bindings[0].device_token',
    ],
    [
      'with a token that the vendor trims, but Postgres would not',
      { bindings: [{ provider: 3, device_token: `${'\u3000'.repeat(1900)}${'A'.repeat(24)}` }] },
      'bindings[0].device_token must have at most 2048 bytes',
    ],
  ])('%s is refused, and its neighbours are written', async (name, fields, problem) => {
    const refused = expect.stringContaining(problem)
    const bad = { device_guid: `${name} 1`, ...fields }
    expect(await put(bad)).toMatchObject({ code: 40002, message: refused })
    const list = await batch([{ device_guid: `${name} 2` }, bad, { device_guid: `${name} 3` }])
    expect(list.data.list).toEqual([
      { push_token: expect.any(String), created: true },
      { code: 40002, message: refused },
      { push_token: expect.any(String), created: true },
    ])
    const { data } = await importLines([{ device_guid: `${name} 4` }, bad, { device_guid: `${name} 5` }])
    expect(data).toMatchObject({ created: 2, failed: 1, errors: [{ line: 2, error: refused }] })
    expect(await device(`${name} 1`)).toBeUndefined()
  })

  it('is refused by bind, too', async () => {
    const { push_token } = (await put({ device_guid: 'bind-long' })).data
    const { code, message } = await api.call('/user/token/bind', {
      body: { push_token, provider: 6, device_token: long },
    })
    expect([code, message]).toEqual([40002, expect.stringContaining('device_token')])
  })

  it('may be removed', async () => {
    const bindings = [{ provider: 1, device_token: null }]
    expect((await put({ device_guid: 'unbound', platform: 'android', bindings })).code).toBe(200)
  })
})

describe('a disabled device', () => {
  it('is in no audience, loses what waits for it, and explain says so', async () => {
    const { user_id } = await api.client.createUser({ username: 'off', password: 'password' })
    const { group_id } = await api.client.createGroup('off')
    await api.client.addMembers(group_id, [user_id])
    const { data } = await put({ device_guid: 'off', user_id, alias: 'off', tags: ['off'] })
    const before = await waiting({ alias: ['off'] })
    expect(await before.guids()).toEqual(['off'])
    await put({ device_guid: 'off', enabled: false })
    expect(await before.guids()).toEqual([])
    const audiences = [
      'all',
      { alias: ['off'] },
      { alias: ['off', 'a', 'b', 'c', 'd', 'e', 'f'] },
      { tag: ['off'] },
      { user_id: [user_id] },
      { push_token: [data.push_token] },
    ]
    for (const audience of audiences) {
      const { guids } = await waiting(audience)
      expect(await guids()).not.toContain('off')
    }
    const group = await api.call('/push/notify', {
      headers: { group_id: String(group_id) },
      body: { audience: 'all', message: { title: 'x' } },
    })
    expect(await sql('SELECT 1 FROM inbox WHERE task_id = $1', [group.data.task_id])).toEqual([])
    const explain = () =>
      api.call('/push/explain', { body: { message: { title: 'x' }, push_token: data.push_token } })
    expect((await explain()).data).toMatchObject({ channel: null, code: 'herald.device_disabled' })
    await put({ device_guid: 'off', enabled: true })
    expect((await explain()).data).toMatchObject({ channel: 'nativepush' })
    expect(await (await waiting({ tag: ['off'] })).guids()).toEqual(['off'])
  })
})

describe('POST /admin/tag/member', () => {
  const member = (body: object) => api.call('/admin/tag/member', { body })

  it('tags devices by guid, push token, alias and user, and names unknown entries', async () => {
    const { user_id } = await api.client.createUser({ username: 'tagged', password: 'password' })
    const first = await put({ device_guid: 'm-1' })
    await batch([
      { device_guid: 'm-2', alias: 'pair' },
      { device_guid: 'm-3', alias: 'pair' },
      { device_guid: 'm-4', user_id },
    ])
    const { data } = await member({
      tag: 'team',
      add: [
        { push_token: first.data.push_token },
        { device_guid: 'm-1' },
        { alias: 'pair' },
        { user_id },
        { alias: 'nobody' },
        { push_token: 'nothing' },
        { user_id: 424242 },
      ],
      remove: [{ device_guid: 'm-3' }, { device_guid: 'nowhere' }],
    })
    expect(data).toEqual({
      added: 4,
      removed: 1,
      unknown: [
        { alias: 'nobody' },
        { push_token: 'nothing' },
        { user_id: 424242 },
        { device_guid: 'nowhere' },
      ],
    })
    expect((await member({ tag: 'team', add: [{ device_guid: 'm-1' }] })).data).toMatchObject({ added: 0 })
    const tagged = await sql(
      `SELECT guid FROM device_tag t JOIN tag ON tag.id = t.tag_id JOIN device d ON d.id = t.device_id
       WHERE tag.name = 'team' ORDER BY 1`,
    )
    expect(tagged.map(({ guid }) => guid)).toEqual(['m-1', 'm-2', 'm-4'])
    expect((await member({ tag: 'none', remove: [{ device_guid: 'm-1' }] })).data).toMatchObject({
      removed: 0,
    })
  })

  it('refuses more tags than a device may have, two keys in an entry, and other applications’ devices', async () => {
    await put({ device_guid: 'm-full', tags: Array.from({ length: 100 }, (_, i) => `full-${i}`) })
    expect(await member({ tag: 'one-more', add: [{ device_guid: 'm-full' }] })).toMatchObject({
      code: 40002,
      message: 'add: the device with device_guid "m-full" would have more than 100 tags.',
    })
    expect((await member({ tag: 'full-1', add: [{ device_guid: 'm-full' }] })).code).toBe(200)
    expect((await member({ tag: 't', add: [{ alias: 'a', device_guid: 'b' }] })).code).toBe(40002)
    expect((await member({ tag: 't', add: [{}] })).code).toBe(40002)
    const other = await api.createApplication('other-tags')
    const { data } = await api.call('/admin/tag/member', {
      appId: other.appId,
      token: other.token,
      body: { tag: 't', add: [{ device_guid: 'm-full' }] },
    })
    expect(data).toMatchObject({ added: 0, unknown: [{ device_guid: 'm-full' }] })
  })
})

describe('POST /admin/tag/list', () => {
  it('lists tags with their devices in pages, without unused ones', async () => {
    const { appId, token } = await api.createApplication('tag-list')
    const call = (path: string, body: object, method?: string) =>
      api.call(path, { appId, token, body, method })
    await call('/admin/device/batch', {
      list: ['a', 'b', 'c'].map((name, i) => ({
        device_guid: name,
        tags: ['both', 'b', '中'].slice(0, i + 1),
      })),
    })
    await call('/admin/tag/member', { tag: 'unused', add: [{ device_guid: 'a' }] })
    await call('/admin/tag/member', { tag: 'unused', remove: [{ device_guid: 'a' }] })
    const listed: unknown[] = []
    let after: string | null | undefined
    for (let page = 0; page < 5 && after !== null; page++) {
      const { data } = await call('/admin/tag/list', { limit: 1, after })
      expect(data.list).toHaveLength(1)
      listed.push(...data.list)
      after = data.next
    }
    expect(after).toBeNull()
    expect(listed).toEqual(
      expect.arrayContaining([
        { tag: 'both', devices: 3 },
        { tag: 'b', devices: 2 },
        { tag: '中', devices: 1 },
      ]),
    )
    expect(listed).toHaveLength(3)
  })

  it('lists the tags that begin with a text, and counts up to a number', async () => {
    const { appId, token } = await api.createApplication('tag-prefix')
    const call = (path: string, body: object) => api.call(path, { appId, token, body })
    await call('/admin/device/batch', {
      list: ['a', 'b', 'c'].map((name, i) => ({
        device_guid: name,
        tags: ['city:rome', 'city:paris', 'City', '100%'].slice(0, i + 2),
      })),
    })
    const tags = async (body: object) => (await call('/admin/tag/list', body)).data.list
    expect(await tags({ prefix: 'city:' })).toEqual([
      { tag: 'city:paris', devices: 3 },
      { tag: 'city:rome', devices: 3 },
    ])
    expect(await tags({ prefix: 'city:r', count_up_to: 2 })).toEqual([{ tag: 'city:rome', devices: 2 }])
    // Not a pattern: % and _ are characters like any other.
    expect(await tags({ prefix: '100%' })).toEqual([{ tag: '100%', devices: 1 }])
    expect(await tags({ prefix: '%' })).toEqual([])
    expect(await tags({ prefix: 'city:', after: 'city:paris' })).toEqual([{ tag: 'city:rome', devices: 3 }])
  })
})

describe('POST /admin/device/remove', () => {
  const remove = (body: object) => api.call('/admin/device/remove', { body })

  it('removes a device by guid or push token, owned or not, and its presence', async () => {
    const { user_id } = await api.client.createUser({ username: 'gone', password: 'password' })
    const owned = await put({ device_guid: 'gone-1', user_id })
    await put({ device_guid: 'gone-2', tags: ['gone'], bindings: [{ provider: 2, device_token: 'hw-gone' }] })
    const [{ id }] = await sql(`SELECT id FROM device WHERE guid = 'gone-2'`)
    await sql(`INSERT INTO presence (device_id, node, connection) VALUES ($1, 'node', 1)`, [id])
    expect((await remove({ push_token: owned.data.push_token })).data).toEqual({ removed: true })
    expect((await remove({ device_guid: 'gone-2' })).data).toEqual({ removed: true })
    expect(await device('gone-1')).toBeUndefined()
    for (const table of ['presence', 'binding', 'device_tag'])
      expect(await sql(`SELECT 1 FROM ${table} WHERE device_id = $1`, [id])).toEqual([])
    expect((await remove({ device_guid: 'gone-2' })).code).toBe(40401)
    expect((await remove({})).code).toBe(40002)
    expect((await remove({ device_guid: 'a', push_token: 'b' })).code).toBe(40002)
    expect(
      await sql(
        `SELECT detail->>'device_guid' AS guid FROM audit WHERE action = 'device.remove' ORDER BY id`,
      ),
    ).toEqual([{ guid: 'gone-1' }, { guid: 'gone-2' }])
  })
})

describe('last_seen', () => {
  const seen = async (guid: string) => (await device(guid)).last_seen as number | null
  const age = (guid: string) =>
    sql(`UPDATE device SET last_seen = now() - interval '61 minutes' WHERE guid = $1`, [guid])

  it('is written when the app calls, at most once per hour, and not by the server’s own calls', async () => {
    const { data } = await put({ device_guid: 'seen' })
    const badge = () =>
      api.call('/user/push/badge', { token: null, body: { push_token: data.push_token, badge: 0 } })
    expect(await seen('seen')).toBeNull()
    await badge()
    await until(async () => (await seen('seen')) !== null)
    await sql(`UPDATE device SET last_seen = now() - interval '30 minutes' WHERE guid = 'seen'`)
    const recent = await seen('seen')
    await badge()
    await put({ device_guid: 'seen', alias: 'x' })
    await api.call('/push/explain', { body: { message: { title: 'x' }, push_token: data.push_token } })
    await api.call('/user/token/bind', {
      token: null,
      body: { push_token: data.push_token, provider: 2, device_token: 'hw-seen' },
    })
    expect(await seen('seen')).toBe(recent)
    await age('seen')
    const old = await seen('seen')
    await api.call('/user/token/bind', {
      token: null,
      body: { push_token: data.push_token, provider: 2, device_token: 'hw-seen' },
    })
    expect(await seen('seen')).toBeGreaterThan(old!)
    await age('seen')
    await api.call('/push/receipt', {
      token: null,
      body: { push_token: data.push_token, list: [{ task_id: 1, event: 'received' }] },
    })
    await until(async () => (await seen('seen'))! > old!)
  })

  it('is written by registration and login', async () => {
    const registered = await api.call('/push/register', { token: null, body: { device_guid: 'seen-2' } })
    expect(await seen('seen-2')).not.toBeNull()
    await age('seen-2')
    const old = await seen('seen-2')
    await api.call('/push/register', {
      token: null,
      body: { device_guid: 'seen-2', push_token: registered.data.push_token },
    })
    expect(await seen('seen-2')).toBeGreaterThan(old!)
    await api.user('seen-3', { guid: 'seen-3' })
    expect(await seen('seen-3')).not.toBeNull()
    await age('seen-3')
    await api.call('/token/user', {
      token: null,
      body: { name: 'seen-3', password: 'seen-3-password', device_guid: 'seen-3' },
    })
    expect(await seen('seen-3')).toBeGreaterThan(old! - 600)
    const [{ fresh }] = await sql(
      `SELECT last_seen > now() - interval '10 minutes' AS fresh FROM device WHERE guid = 'seen-3'`,
    )
    expect(fresh).toBe(true)
  })
})
