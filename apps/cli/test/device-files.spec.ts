import { linkSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DeviceChange } from '@herald/client'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type CsvRecord, csvRecords } from '../src/csv-records.ts'
import { type BatchCounts, sendBatches } from '../src/device-batches.ts'
import { deviceOf, erasureOf } from '../src/device-flags.ts'
import { type LostTags, oneSignalLines, type Skipped } from '../src/onesignal.ts'
import { textLines } from '../src/text-lines.ts'
import { runHere } from './run-here.ts'

/** The text in chunks of `size` bytes, which cut lines and characters anywhere. */
async function* chunksOf(text: string | Uint8Array, size = 3): AsyncGenerator<Uint8Array> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
/** Lines, of which the second has the characters 你好 in GBK. */
const withGbk = (first: string, before: string, after: string) =>
  Buffer.concat([
    Buffer.from(`${first}\n${before}`),
    Buffer.from([0xc4, 0xe3, 0xba, 0xc3]),
    Buffer.from(`${after}\n`),
  ])
async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

describe('lines of a file', () => {
  it.each([1, 3, 1000])('are split in chunks of %i bytes', async (size) => {
    expect(await all(textLines(chunksOf('a\r\n\n你好\nlast', size)))).toEqual([
      { no: 1, text: 'a', end: 3 },
      { no: 2, text: '', end: 4 },
      { no: 3, text: '你好', end: 11 },
      { no: 4, text: 'last', end: 15 },
    ])
  })

  it('keep their bytes if they are not UTF-8', async () => {
    const lines = await all(textLines(chunksOf(withGbk('a', 'b', '\r'))))
    expect(lines.map(({ no, invalid }) => [no, invalid && Buffer.from(invalid).toString('hex')])).toEqual([
      [1, undefined],
      [2, '62c4e3bac30d'],
    ])
  })
})

describe('batches of devices', () => {
  const send = async (text: string | Uint8Array, put: (devices: DeviceChange[]) => unknown[]) => {
    const counts: BatchCounts = { lines: 0, created: 0, updated: 0, failed: 0 }
    const refused: string[] = []
    const sent: number[] = []
    await sendBatches(textLines(chunksOf(text, 4096)), async (devices) => put(devices) as never, counts, {
      refused: ({ line, reason }) => refused.push(`${line.no} ${line.text}: ${reason}`),
      sent: ({ no }) => sent.push(no),
    })
    return { counts, refused, sent }
  }
  const line = (guid: string) => `{"device_guid":"${guid}"}\n`

  it('have at most 1000 devices, and refused lines keep their numbers', async () => {
    const sizes: number[] = []
    const text = `${line('a')}nonsense\n[1]\n${Array.from({ length: 1999 }, (_, i) => line(`g${i}`)).join('')}`
    const { counts, refused, sent } = await send(text, (devices) => {
      sizes.push(devices.length)
      return devices.map(({ device_guid }, at) =>
        device_guid === 'g0' ? { code: 40002, message: 'Bad.' } : { push_token: 'p', created: at === 0 },
      )
    })
    expect(sizes).toEqual([1000, 1000])
    expect(counts).toEqual({ lines: 2002, created: 2, updated: 1997, failed: 3 })
    expect(refused).toEqual([
      '2 nonsense: It is not a JSON object.',
      '3 [1]: It is not a JSON object.',
      '4 {"device_guid":"g0"}: Bad.',
    ])
    expect(sent).toEqual([1002, 2002])
  })

  it('have no line that is not UTF-8', async () => {
    const names: string[] = []
    const { counts, refused } = await send(
      withGbk('{"device_guid":"a"}', '{"device_guid":"b","alias":"', '"}\n{"device_guid":"c"}'),
      (devices) => {
        names.push(...devices.map(({ device_guid }) => device_guid))
        return devices.map(() => ({ push_token: 'p', created: true }))
      },
    )
    expect(names).toEqual(['a', 'c'])
    expect(counts).toEqual({ lines: 3, created: 2, updated: 0, failed: 1 })
    expect(refused).toEqual([expect.stringMatching(/^2 .*: It is not valid UTF-8\.$/)])
  })

  it('stay below the size of a body, and numbers keep their digits', async () => {
    const bodies: string[] = []
    const long = (n: number) =>
      `{"device_guid":"g${n}","user_id":9007199254740993,"alias":"${'漢'.repeat(1999)}"}\n`
    await send(Array.from({ length: 1000 }, (_, i) => long(i)).join(''), (devices) => {
      bodies.push(JSON.stringify(devices))
      return devices.map(() => ({ push_token: 'p', created: true }))
    })
    expect(bodies.length).toBeGreaterThan(1)
    for (const body of bodies) {
      expect(Buffer.byteLength(body)).toBeLessThan(4 * 1024 * 1024)
      expect(body).toContain('"user_id":9007199254740993,')
    }
  })
})

describe('the file for refused lines', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-cli-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  const lines = withGbk('{"device_guid":"a"}', '{"device_guid":"b","alias":"', '"}')
  const batch = (input: string, refused: string) =>
    runHere(['device', 'batch', input, '--refused', refused, '--json'], () => ({
      list: [{ push_token: 'p', created: true }],
    }))

  it('cannot be the input, whatever its name is', async () => {
    const input = join(folder, 'devices.ndjson')
    const [soft, hard] = [join(folder, 'soft'), join(folder, 'hard')]
    writeFileSync(input, lines)
    symlinkSync(input, soft)
    linkSync(input, hard)
    for (const refused of [input, soft, hard]) {
      const { error, calls } = await batch(input, refused)
      expect(error).toMatchObject({
        name: 'UsageFailure',
        message: `--refused: ${refused} is the file that is read; name another one.`,
      })
      expect(calls).toEqual([])
      expect(readFileSync(input).equals(lines)).toBe(true)
    }
  })

  it('gets the bytes of a line as they are', async () => {
    const [input, refused] = [join(folder, 'some.ndjson'), join(folder, 'refused.ndjson')]
    writeFileSync(input, lines)
    const { error, stdout } = await batch(input, refused)
    expect(error).toMatchObject({ name: 'SilentFailure' })
    expect(JSON.parse(stdout)).toEqual({
      lines: 2,
      created: 1,
      updated: 0,
      failed: 1,
      errors: [{ line: 2, error: 'Line 2: It is not valid UTF-8.' }],
    })
    expect(readFileSync(refused).equals(lines.subarray(lines.indexOf('\n') + 1))).toBe(true)
  })
})

describe('CSV', () => {
  it.each([1, 7, 1000])(
    'is parsed with quotes, commas and line ends in fields, %i bytes at a time',
    async (size) => {
      const text = 'a,b,c\r\n"x ""y"", z","two\nlines",\n,"",last 漢'
      const expected: CsvRecord[] = [
        { line: 1, lines: 1, fields: ['a', 'b', 'c'] },
        { line: 2, lines: 2, fields: ['x "y", z', 'two\nlines', ''] },
        { line: 4, lines: 1, fields: ['', '', 'last 漢'] },
      ]
      expect(await all(csvRecords(chunksOf(text, size)))).toEqual(expected)
    },
  )

  it('with a quote that is not closed is refused', async () => {
    await expect(all(csvRecords(chunksOf('a\n"b\n')))).rejects.toThrow('Line 2: a quote is not closed.')
    await expect(all(csvRecords(chunksOf(`a\n"${'b'.repeat(2 ** 21)}`, 65_536)))).rejects.toThrow(
      'Line 2: the record is too long.',
    )
  })

  it('that is not UTF-8 is refused', async () => {
    for (const bytes of [withGbk('a,b', '1,', ''), Buffer.from('a,b\n1,你').subarray(0, -1)])
      await expect(all(csvRecords(chunksOf(bytes)))).rejects.toThrow('The file is not valid UTF-8')
  })
})

describe('an export of OneSignal', () => {
  const header =
    'id,identifier,session_count,language,timezone,game_version,device_os,device_type,device_model,tags,invalid_identifier,external_user_id,timezone_id'
  const convert = async (...rows: string[]) => {
    const skipped: Skipped[] = []
    const lost: LostTags[] = []
    const bytes = await all(
      oneSignalLines(
        csvRecords(chunksOf([header, ...rows, ''].join('\n'))),
        (why) => skipped.push(why),
        (why) => lost.push(why),
      ),
    )
    return { text: Buffer.concat(bytes).toString('utf8'), skipped, lost }
  }

  it('becomes import lines on the same line numbers', async () => {
    const { text, skipped } = await convert(
      'u1,tok-1,3,zh-Hans,28800,2.1,17.4,0,"iPhone15,2","{""plan"":""gold"",""city"":""Shenzhen""}",f,customer-17,Asia/Shanghai',
      'u2,tok-2,1,en,0,2.1,14,1,"Pixel\n8","",false,,',
      'u3,tok-3,1,en,0,2.1,14,1,Pixel,{},true,,',
      'u4,anna@example.com,1,en,0,,,11,,{},f,,',
      'u5,,1,en,0,,14,1,Pixel,{},f,,',
      'u6,tok-6,1,,0,,12,13,P50,not json,f,customer-18,',
    )
    const lines = text.split('\n')
    const read = (number: number) => JSON.parse(lines[number - 1]!)
    expect(lines.map((one) => one !== '')).toEqual([
      false,
      true,
      true,
      false,
      false,
      false,
      false,
      true,
      false,
    ])
    expect(read(2)).toEqual({
      device_guid: 'u1',
      platform: 'ios',
      alias: 'customer-17',
      tags: ['plan:gold', 'city:Shenzhen'],
      bindings: [{ provider: 1, device_token: 'tok-1' }],
      locale: 'zh-Hans',
      timezone: 'Asia/Shanghai',
      app_version: '2.1',
    })
    expect(read(3)).toEqual({
      device_guid: 'u2',
      platform: 'android',
      tags: [],
      bindings: [{ provider: 7, device_token: 'tok-2' }],
      locale: 'en',
      app_version: '2.1',
    })
    expect(read(8)).toMatchObject({
      device_guid: 'u6',
      alias: 'customer-18',
      bindings: [{ provider: 2 }],
    })
    expect(skipped).toEqual(['unsubscribed', 'other kind', 'no token'])
  })

  it('counts rows whose tags are cut or unreadable; unreadable ones change no tags', async () => {
    const row = (tags: string) => `u,tok,1,en,0,2.1,14,1,Pixel,"${tags.replaceAll('"', '""')}",f,,`
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`k${i}`, i]))
    const { text, lost } = await convert(
      row(JSON.stringify(many)),
      row(JSON.stringify({ plan: 'gold', note: 'x'.repeat(64) })),
      row('{"plan":'),
      row('7'),
      row('{}'),
    )
    expect(lost).toEqual(['cut', 'cut', 'unreadable', 'unreadable'])
    const tags = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line).tags)
    expect(tags).toEqual([expect.any(Array), ['plan:gold'], undefined, undefined, []])
    expect(tags[0]).toHaveLength(100)
  })

  it('is recognised by its columns', async () => {
    const wrong = oneSignalLines(
      csvRecords(chunksOf('guid,token\na,b\n')),
      () => {},
      () => {},
    )
    await expect(all(wrong)).rejects.toThrow('no column id')
  })
})

describe('flags of a device', () => {
  it('become the body; what has no flag is absent, what is cleared is null', () => {
    expect(
      deviceOf('g', {
        alias: 'customer-17',
        addTag: ['vip'],
        binding: ['huawei=IQ=A', '1=abc'],
        development: true,
        enabled: false,
        clear: ['user_id', 'locale'],
      }),
    ).toEqual({
      device_guid: 'g',
      alias: 'customer-17',
      add_tags: ['vip'],
      bindings: [
        { provider: 'huawei', device_token: 'IQ=A', environment: 0 },
        { provider: 1, device_token: 'abc', environment: 0 },
      ],
      enabled: false,
      user_id: null,
      locale: null,
    })
    expect(() => deviceOf('g', { clear: ['colour'] })).toThrow('--clear takes platform, user_id')
    expect(() => deviceOf('g', { alias: 'a', clear: ['alias'] })).toThrow('both set and cleared')
    expect(() => deviceOf('g', { binding: ['huawei'] })).toThrow('--binding must be')
  })

  it('name exactly one person or device to erase', () => {
    expect(erasureOf(undefined, { alias: 'a' })).toMatchObject({ erasure: { alias: 'a' }, name: 'a' })
    expect(erasureOf(undefined, { user: 7n })).toMatchObject({ erasure: { user_id: 7n }, name: '7' })
    expect(erasureOf('g', {})).toMatchObject({ erasure: { device_guid: 'g' }, name: 'g' })
    expect(() => erasureOf('g', { alias: 'a' })).toThrow('Name one')
    expect(() => erasureOf(undefined, {})).toThrow('Name one')
  })
})
