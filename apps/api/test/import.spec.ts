import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { importDeviceStream } from '../src/handlers/device-import.ts'
import type { RouteContext } from '../src/route.ts'
import { openTestApi, type TestApi } from './harness.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi()
})
afterAll(() => api.close())

const send = (raw: string | Uint8Array) => api.call('/admin/device/import', { raw, method: 'POST' })
const device = async (guid: string) => (await api.client.devices({ device_guid: guid })).list[0]
const line = (fields: object) => `${JSON.stringify({ platform: 'android', ...fields })}\n`

const importAs = (body: AsyncIterable<Uint8Array>) =>
  importDeviceStream.handler(
    { deps: api.deps, appId: api.appId, caller: { role: 'admin', actor: 'spec' } } as unknown as RouteContext,
    body as never,
  )

/** Makes writes to the table of devices wait until `release`. */
async function holdDevices() {
  const busy = await api.context.db.pool.connect()
  await busy.query(
    'BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; LOCK TABLE device IN SHARE MODE',
  )
  return {
    async release() {
      await busy.query('COMMIT')
      busy.release()
    },
  }
}

/** Resolves when reading has stopped because all writers wait. */
async function untilAtRest(read: () => number): Promise<void> {
  let before = -1
  await until(
    async () => {
      const { rows } = await api.context.db.pool.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      const atRest = rows.length === 3 && read() === before
      before = read()
      return atRest
    },
    { everyMs: 100 },
  )
}

describe('an import', () => {
  it('creates devices with bindings, tags, alias and user', async () => {
    const { user_id } = await api.client.createUser({ username: 'anna', password: 'password' })
    const { data } = await send(
      line({
        device_guid: 'a',
        user_id,
        alias: 'x',
        tags: ['t', 't', 'u'],
        bindings: [
          { provider: 2, device_token: 'hw-a' },
          { provider: 7, device_token: 'fcm:a', environment: 0 },
        ],
      }) +
        JSON.stringify({
          device_guid: 'b',
          platform: 'ios',
          bindings: [{ provider: 1, device_token: 'ab'.repeat(32), bundle_id: 'com.b' }],
        }),
    )
    expect(data).toEqual({ lines: 2, created: 2, updated: 0, unchanged: 0, failed: 0, errors: [] })
    expect(await device('a')).toMatchObject({
      user_id,
      platform: 'android',
      alias: 'x',
      tags: ['t', 'u'],
      bindings: [
        { provider: 7, device_token: 'fcm:a', environment: 0 },
        { provider: 2, device_token: 'hw-a', environment: 1 },
      ],
    })
    expect(await device('b')).toMatchObject({
      platform: 'ios',
      user_id: null,
      bindings: [{ bundle_id: 'com.b' }],
    })
  })

  it('refuses an encoded body', async () => {
    const text = line({ device_guid: 'packed' })
    const packed = (raw: string | Uint8Array, encoding: string) =>
      api.call('/admin/device/import', { raw, headers: { 'content-encoding': encoding } })
    expect(await packed(new Uint8Array(gzipSync(text)), 'gzip')).toMatchObject({
      code: 40001,
      message: 'The body must not be encoded with gzip: send it without the header content-encoding.',
    })
    expect((await packed(text, 'identity')).data).toMatchObject({ created: 1, failed: 0 })
  })

  it('changes nothing when it is repeated, and only what is given when it is not the same', async () => {
    const before = await device('a')
    const text = line({ device_guid: 'a', bindings: [{ provider: 2, device_token: 'hw-a' }] })
    expect((await send(text)).data).toMatchObject({ created: 0, updated: 0, unchanged: 1 })
    expect(await device('a')).toEqual(before)
    await send(line({ device_guid: 'a', tags: ['new'], bindings: [{ provider: 2, device_token: 'hw-a2' }] }))
    expect(await device('a')).toMatchObject({
      ...before,
      tags: ['new'],
      bindings: [{ device_token: 'fcm:a' }, { device_token: 'hw-a2' }],
    })
    const { rows } = await api.context.db.pool.query(`SELECT reason FROM retired_token WHERE token = 'hw-a'`)
    expect(rows).toEqual([{ reason: 'replaced' }])
  })

  it('stores the region of a token like a bind does', async () => {
    const regions = async (bindings: object[]) => {
      const { data } = await send(line({ device_guid: 'far', bindings }))
      if (data.failed > 0) return data.errors[0].error as string
      return Object.fromEntries((await device('far'))!.bindings.map((one) => [one.provider, one.region]))
    }
    const oppo = { provider: 6, device_token: `realme_IN_${'0a'.repeat(16)}` }
    const huawei = { provider: 2, device_token: 'hw-far' }
    expect(await regions([oppo, { ...huawei, region: 'intl' }])).toEqual({ 6: 'intl', 2: 'intl' })
    expect(await regions([oppo, { ...huawei, region: 'cn' }])).toEqual({ 6: 'intl', 2: 'cn' })
    expect(await regions([huawei])).toEqual({ 6: 'intl', 2: null })
    expect(await regions([{ ...huawei, region: 'eu' }])).toMatch(
      /bindings\[0\]\.region must be one of cn, intl/,
    )
  })

  it('moves tokens and users like a bind and a login do', async () => {
    const { user_id } = await api.client.createUser({ username: 'bert', password: 'password' })
    await send(
      line({ device_guid: 'a', user_id }) +
        line({ device_guid: 'c', bindings: [{ provider: 2, device_token: 'hw-a2' }] }),
    )
    expect(await device('a')).toMatchObject({
      user_id,
      alias: null,
      tags: [],
      bindings: [{ device_token: 'fcm:a' }],
    })
    expect(await device('c')).toMatchObject({ bindings: [{ device_token: 'hw-a2' }] })
  })

  it('lets the later of two lines for a device or token win', async () => {
    const { data } = await send(
      line({ device_guid: 'twice', alias: 'first' }) +
        line({ device_guid: 'twice', alias: 'second' }) +
        line({ device_guid: 'same-1', bindings: [{ provider: 3, device_token: 'A'.repeat(24) }] }),
    )
    expect(data).toMatchObject({ lines: 3, created: 2, failed: 0 })
    expect(await device('twice')).toMatchObject({ alias: 'second' })
  })

  const token = { bindings: [{ provider: 2, device_token: 'order-token' }] }
  it.each([
    ['device', { device_guid: 'order-x' }, { device_guid: 'order-x' }],
    ['token', { device_guid: 'order-y', ...token }, { device_guid: 'order-z', ...token }],
  ])('lets the later of two lines for a %s win also if the earlier one waits', async (key, first, second) => {
    const guid = (n: number) => `order-${key}-${String(n).padStart(4, '0')}`
    const lines = (from: number) =>
      Array.from({ length: 999 }, (_, i) => line({ device_guid: guid(from + i) }))
    async function* body() {
      yield Buffer.from([...lines(0), line({ ...first, alias: 'first' })].join(''))
      yield Buffer.from([...lines(1000), line({ ...second, alias: 'second' })].join(''))
    }
    const { pool } = api.context.db
    const busy = await pool.connect()
    await busy.query('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0')
    await busy.query(
      `INSERT INTO device (app_id, guid, push_token_hash) VALUES ($1, $2, push_token_hash('order'))`,
      [api.appId, guid(0)],
    )
    const importing = importAs(body())
    await until(
      async () =>
        (
          await pool.query(
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          )
        ).rows.length > 0,
      { everyMs: 20 },
    )
    // The second batch could be written during that time.
    for (let i = 0; i < 100; i++) await pool.query('SELECT pg_sleep(0.002)')
    await busy.query('ROLLBACK')
    busy.release()
    const devices = new Set([first.device_guid, second.device_guid]).size
    expect(await importing).toMatchObject({ created: 1998 + devices, updated: 2 - devices, failed: 0 })
    expect(await device(second.device_guid)).toMatchObject({ ...second, alias: 'second' })
  })

  it('reports invalid lines with their numbers and imports the others', async () => {
    const good = line({ device_guid: 'good' })
    const bad: [string, string][] = [
      ['not json\n', 'is not valid JSON'],
      ['[]\n', 'is not a JSON object'],
      [line({}), 'device_guid must be a non-blank string'],
      [line({ device_guid: 'x', platform: 'windows' }), 'platform must be one of ios, android, harmony'],
      [line({ device_guid: 'x', extra: 1 }), 'extra is not a field of a device'],
      [line({ device_guid: 'x', user_id: 1.5 }), 'user_id must be a 64-bit integer'],
      [
        '{"device_guid":"x","platform":"ios","user_id":9007199254740993}\n',
        'user_id 9007199254740993 does not exist',
      ],
      [line({ device_guid: 'x', tags: 'a' }), 'tags must be a list'],
      [line({ device_guid: 'x', tags: ['a'.repeat(65)] }), 'tags[0] must have at most 64 characters'],
      [
        line({ device_guid: 'x', tags: Array.from({ length: 101 }, (_, i) => `${i}`) }),
        'tags must have at most 100 items',
      ],
      [line({ device_guid: 'x\u001f' }), 'device_guid must not contain control characters'],
      ['{"device_guid":"\\ud800","platform":"ios"}\n', 'device_guid contains half of a surrogate pair'],
      [
        line({ device_guid: 'x', bindings: [{ provider: 9, device_token: 'x' }] }),
        'bindings[0].provider must be an integer from 1 to 8',
      ],
      [
        line({ device_guid: 'x', bindings: [{ provider: 1, device_token: 'zz' }] }),
        'bindings[0].device_token is not an APNs token',
      ],
      [
        line({ device_guid: 'x', bindings: [{ provider: 2, device_token: 'a', environment: 2 }] }),
        'bindings[0].environment must be 0 or 1',
      ],
      [
        line({ device_guid: 'x', bindings: [{ provider: 2, device_token: 'a', x: 1 }] }),
        'bindings[0].x is not a field of a binding',
      ],
      [
        line({
          device_guid: 'x',
          bindings: [
            { provider: 2, device_token: 'a' },
            { provider: 2, device_token: 'b' },
          ],
        }),
        'bindings[1] has the same provider as another binding',
      ],
      [line({ device_guid: 'x'.repeat(70_000) }), 'is longer than 64 KiB'],
    ]
    const { data } = await send(`\n${good}${bad.map(([text]) => text).join('')}  \n${good}`)
    expect(data).toMatchObject({ lines: bad.length + 2, created: 1, failed: bad.length })
    expect(data.errors).toEqual(
      bad.map(([, error], i) => ({ line: i + 3, error: expect.stringContaining(`Line ${i + 3}: ${error}`) })),
    )
  })

  it('takes an item of a list that is repeated once', async () => {
    const tags = Array.from({ length: 101 }, (_, i) => `repeated-${i % 100}`)
    const binding = { provider: 2, device_token: 'repeated-token' }
    const { data } = await send(
      line({ device_guid: 'repeated', tags, bindings: [binding, { ...binding, provider: 'huawei' }] }),
    )
    expect(data).toMatchObject({ created: 1, failed: 0 })
    const { list } = await api.client.devices({ device_guid: 'repeated' })
    expect(list[0]).toMatchObject({ tags: expect.any(Array), bindings: [{ channel: 'huawei' }] })
    expect(list[0]!.tags).toHaveLength(100)
  })

  it('counts every invalid line and lists the first hundred', async () => {
    const { data } = await send('x\n'.repeat(250))
    expect(data).toMatchObject({ lines: 250, failed: 250 })
    expect(data.errors).toHaveLength(100)
    expect(data.errors[99].line).toBe(100)
  })

  it('lists the first hundred lines, also if later ones are noticed earlier', async () => {
    const unknown = Array.from({ length: 100 }, (_, i) =>
      line({ device_guid: `nobodys-${i}`, user_id: 424242 }),
    )
    const { data } = await send(`${unknown.join('')}${'x\n'.repeat(100)}`)
    expect(data).toMatchObject({ lines: 200, failed: 200 })
    expect(data.errors).toEqual(
      unknown.map((_, i) => ({ line: i + 1, error: `Line ${i + 1}: user_id 424242 does not exist.` })),
    )
  })

  it('reports invalid UTF-8 for its line only', async () => {
    const { data } = await send(
      Buffer.concat([
        Buffer.from(line({ device_guid: 'utf-1' })),
        Buffer.from([0x22, 0xff, 0x0a]),
        Buffer.from(line({ device_guid: 'utf-2' })),
      ]),
    )
    expect(data).toMatchObject({
      created: 2,
      failed: 1,
      errors: [{ line: 2, error: 'Line 2: is not valid UTF-8.' }],
    })
  })

  it('of an empty body returns zeros', async () => {
    expect((await send('')).data).toEqual({
      lines: 0,
      created: 0,
      updated: 0,
      unchanged: 0,
      failed: 0,
      errors: [],
    })
  })

  it('keeps only a few batches in memory while Postgres is busy', async () => {
    const chunks = 40
    let read = 0
    async function* body() {
      for (let chunk = 0; chunk < chunks; chunk++) {
        const guids = Array.from({ length: 1000 }, (_, i) => `stream-${chunk}-${i}`)
        yield Buffer.from(guids.map((guid) => line({ device_guid: guid })).join(''))
        read++
      }
    }
    const busy = await holdDevices()
    const importing = importAs(body())
    await untilAtRest(() => read)
    // Three batches of 1000 in progress, and one that waits.
    expect(read).toBeLessThanOrEqual(12)
    await busy.release()
    expect(await importing).toMatchObject({ created: chunks * 1000, failed: 0 })
  })

  it('keeps a few megabytes of long lines in memory while Postgres is busy', async () => {
    const tags = Array.from({ length: 100 }, (_, i) => `${'😀'.repeat(60)}${i}`)
    // Otherwise the writers would wait for the first one, which creates the tags.
    await send(line({ device_guid: 'long-tags', tags }))
    let lines = 6000
    let read = 0
    async function* body() {
      for (; read < lines; read++) yield Buffer.from(line({ device_guid: `long-${read}`, tags }))
    }
    const busy = await holdDevices()
    const before = process.memoryUsage().rss
    const importing = importAs(body())
    await untilAtRest(() => read)
    const grown = process.memoryUsage().rss - before
    lines = read + 1
    await busy.release()
    expect(await importing).toMatchObject({ created: lines, failed: 0 })
    // Three batches of 2 MiB in progress, and one that waits; a line is 25 KiB.
    expect(lines).toBeLessThan(1200)
    expect(grown).toBeLessThan(100 * 1024 * 1024)
  })

  it('is one of at most four of its application', async () => {
    const answers = Promise.withResolvers<void>()
    async function* body() {
      await answers.promise
      yield Buffer.from(line({ device_guid: 'one-of-four' }))
    }
    const four = Array.from({ length: 4 }, () => importAs(body()))
    await expect(importAs(body())).rejects.toMatchObject({ code: 42901, retryAfter: 1 })
    answers.resolve()
    await Promise.all(four)
    expect(await importAs(body())).toMatchObject({ unchanged: 1 })
  })

  it('runs concurrently with others on the same devices and tokens without deadlock or loss', async () => {
    const count = 4000
    // Tokens move between devices of different batches.
    const tokenOf = (n: number, shift: number) =>
      n % 4 === 0 ? `a${(n + shift) % count}` : `b${(n + 3 * shift) % count}`
    const lines = (shift: number) =>
      Readable.from(
        (function* () {
          for (let i = 0; i < count; i++) {
            const n = (i * 7 + shift * 1013) % count
            yield line({
              device_guid: `many-${n}`,
              tags: [`tag-${n % 10}`],
              bindings: [{ provider: 2, device_token: `many-token-${tokenOf(n, shift)}` }],
            })
          }
        })(),
      )
    const run = async (shift: number) => {
      const response = await fetch(`${api.url}/admin/device/import`, {
        method: 'POST',
        headers: { app_id: api.appId, 'access-token': api.adminToken },
        body: Readable.toWeb(lines(shift)) as ReadableStream,
        duplex: 'half',
      } as RequestInit)
      return (await response.json()) as {
        code: number
        data: { created: number; updated: number; unchanged: number }
      }
    }
    const answers = await Promise.all([0, 1, 2, 3].map(run))
    expect(answers.map(({ code }) => code)).toEqual([200, 200, 200, 200])
    expect(answers.reduce((sum, { data }) => sum + data.created, 0)).toBe(count)
    expect(answers.reduce((sum, { data }) => sum + data.created + data.updated + data.unchanged, 0)).toBe(
      4 * count,
    )
    const { rows } = await api.context.db.pool.query(
      `SELECT count(*)::int AS devices, (SELECT count(*)::int FROM device_tag JOIN tag ON tag.id = tag_id WHERE name LIKE 'tag-%') AS tags,
         (SELECT count(*)::int FROM binding WHERE token LIKE 'many-token-%') AS bindings FROM device WHERE guid LIKE 'many-%'`,
    )
    expect(rows[0].devices).toBe(count)
    expect(rows[0].tags).toBe(count)
    expect(rows[0].bindings).toBeGreaterThan(count / 2)
  })
})
