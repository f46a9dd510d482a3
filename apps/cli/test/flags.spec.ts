import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CertificateView, NewCertificate } from '@herald/client'
import { eventNames, toJson } from '@herald/domain'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Command } from 'commander'
import { withSaved } from '../src/certificate-record.ts'
import { type WhoFlags, whoOf } from '../src/commands/task-history.ts'
import { type AudienceFlags, audienceOf, messageOf, notificationOf, settingOf } from '../src/notification.ts'
import { gather, oneOf, orDefault, readId, readObject, readTime, seconds, wholeNumber } from '../src/parse.ts'
import { createProgram } from '../src/program.ts'
import { runHere } from './run-here.ts'

describe('the flags of a command', () => {
  it('are not also flags of the program, which would read them first', () => {
    const program = createProgram()
    const own = new Set(program.options.map(({ long }) => long))
    const below = (command: Command): Command[] => [command, ...command.commands.flatMap(below)]
    const twice = program.commands
      .flatMap(below)
      .flatMap((command) =>
        command.options.filter(({ long }) => own.has(long)).map(({ long }) => `${command.name()} ${long}`),
      )
    expect(twice).toEqual([])
  })
})

describe('the audience of a push', () => {
  it.each<[AudienceFlags, unknown]>([
    [{ all: true }, 'all'],
    [{ tag: ['a', 'b'] }, { tag: ['a', 'b'] }],
    [{ alias: ['x'] }, { alias: ['x'] }],
    [{ user: [9007199254740993n] }, { user_id: [9007199254740993n] }],
    [{ pushToken: ['t'] }, { push_token: ['t'] }],
  ])('%# is taken from one kind of flag', (flags, audience) => {
    expect(audienceOf(flags)).toEqual(audience)
  })

  it('is refused when it is missing or given twice', () => {
    expect(() => audienceOf({})).toThrow('The audience is missing')
    expect(() => audienceOf({ all: true, tag: ['a'] })).toThrow('more than one audience')
  })
})

describe('the body of a push', () => {
  it('has only the given fields', () => {
    expect(
      notificationOf({
        all: true,
        title: 'T',
        image: 'https://x/y.png',
        bigText: 'long',
        begin: 5,
        strategy: 'ospush_only',
        sequence: 'huawei, ups',
        class: 'service',
      }),
    ).toEqual({
      audience: 'all',
      message: { title: 'T', attachment_url: 'https://x/y.png', big_text: 'long', show_begin_time: 5 },
      setting: {
        distribution_strategy: 'ospush_only',
        ospush_sequence: ['huawei', 'ups'],
        message_class: 'service',
      },
    })
    expect(
      messageOf({ link: 'myapp://7', collapseKey: 'order-7', foreground: 'hide', urgent: true }),
    ).toEqual({
      click_action: 'url',
      url: 'myapp://7',
      collapse_key: 'order-7',
      foreground: 'hide',
      urgent: true,
    })
    expect(notificationOf({ all: true, title: 'T' })).toEqual({ audience: 'all', message: { title: 'T' } })
    expect(settingOf({ ttl: 0 })).toEqual({ ttl: 0 })
  })

  it('merges flags over the fields of the file', () => {
    expect(messageOf({ title: 'flag' }, { title: 'file', huawei: { category: 'IM' } })).toEqual({
      title: 'flag',
      huawei: { category: 'IM' },
    })
  })
})

describe('files that are not UTF-8', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-cli-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  // {"title":"你好"} in GBK.
  const bytes = Buffer.from('{"title":"\u00c4\u00e3\u00ba\u00c3"}\n', 'latin1')

  it.each([
    [['notify', '--all', '--message'], '--message: %s is not valid UTF-8.'],
    [['explain', '--device', 'g', '--message'], '--message: %s is not valid UTF-8.'],
    [['tag', 'add', 'vip', '--file'], '--file: line 1 is not valid UTF-8.'],
  ])('%j are refused, and nothing is sent', async (args, sentence) => {
    const path = join(folder, 'message.json')
    writeFileSync(path, bytes)
    const { error, calls } = await runHere([...args, path])
    expect(error).toMatchObject({ message: sentence.replace('%s', path) })
    expect(calls).toEqual([])
  })
})

describe('files that begin with a byte order mark', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-cli-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  const write = (text: string) => {
    const path = join(folder, 'marked.json')
    writeFileSync(path, `\uFEFF${text}`)
    return path
  }

  it.each<[string[], string, object]>([
    [['notify', '--all', '--message'], '{"title":"T"}', { message: { title: 'T' } }],
    [['notify-batch'], '{"audience":"all"}\n', { list: [{ audience: 'all' }] }],
    [['device', 'batch'], '{"device_guid":"g"}\n', { list: [{ device_guid: 'g' }] }],
  ])('%j are read without it', async (args, text, sent) => {
    const answer = () => ({ task_id: 7, list: [{ task_id: 7 }] })
    const { error, calls } = await runHere([...args, write(text)], answer)
    expect(error).toBeUndefined()
    expect(JSON.parse(calls[0]!.body)).toMatchObject(sent)
  })

  it('are read without it as the value of --extra', async () => {
    const args = ['certificate', 'set', 'huawei', '--client-id', '1', '--client-secret', 's', '--extra']
    const { calls } = await runHere([...args, `@${write('{"receipt_id":"r"}')}`], (path) =>
      path.endsWith('/list') ? [] : { saved: true, check: null, region: 'cn', warnings: [] },
    )
    expect(JSON.parse(calls[1]!.body)).toMatchObject({ extra: { receipt_id: 'r' } })
  })
})

describe('a push without an answer', () => {
  const broken = (code: string) =>
    new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })
  const refusal = (status: number, code: number) =>
    new Response(JSON.stringify({ code, data: null, message: 'Refused.' }), { status })
  const send = async (answer: () => unknown, ...more: string[]) => {
    const { error, calls } = await runHere(['notify', '--all', '--title', 'T', ...more], answer)
    const id: string = JSON.parse(calls[0]!.body).setting.request_id
    return { id, sentence: (error as Error).message }
  }
  const thrown = (error: Error) => () => {
    throw error
  }
  const advice = (id: string) =>
    ` The push may have been accepted. Repeat it with --request-id ${id}: it is sent once.`

  it.each<[string, () => unknown]>([
    ['a broken connection', thrown(broken('UND_ERR_SOCKET'))],
    ['a timeout', thrown(Object.assign(new Error('Too late.'), { name: 'TimeoutError' }))],
    ['an answer that ends early', thrown(new TypeError('terminated'))],
    ['an answer of a proxy', () => new Response('Bad gateway', { status: 502 })],
    ['an answer that the proxy lost', () => refusal(502, 50201)],
    ['a commit in doubt', () => refusal(500, 50001)],
  ])('because of %s can be repeated by its id', async (_name, answer) => {
    const { id, sentence } = await send(answer)
    expect(id).toMatch(/^[\da-f-]{36}$/)
    expect(sentence).toMatch(
      /^(Herald at http:\/\/herald\.test |The command failed: |Not a response |Refused\.)/,
    )
    expect(sentence.endsWith(advice(id))).toBe(true)
    const named = await send(answer, '--request-id', 'order-77')
    expect(named.id).toBe('order-77')
    expect(named.sentence.endsWith(advice('order-77'))).toBe(true)
  })

  it.each<[string, () => unknown]>([
    ['no connection', thrown(broken('ECONNREFUSED'))],
    ['an unknown host', thrown(broken('ENOTFOUND'))],
    ['a refusal', () => refusal(400, 40004)],
    ['a database that is away', () => refusal(503, 50301)],
  ])('because of %s was not accepted', async (_name, answer) => {
    expect((await send(answer)).sentence).not.toContain('may have been accepted')
  })

  it('has an id of its own if the given one is blank', async () => {
    expect((await send(() => refusal(400, 40004), '--request-id', ' ')).id).toMatch(/^[\da-f-]{36}$/)
  })

  it('is not in doubt when only watching it fails', async () => {
    const { error } = await runHere(['notify', '--all', '--title', 'T', '--wait'], (path) => {
      if (path === '/push/notify') return { task_id: 7 }
      throw broken('UND_ERR_SOCKET')
    })
    expect((error as Error).message).toMatch(/^Herald at http:\/\/herald\.test cannot be reached/)
    expect((error as Error).message).not.toContain('may have been accepted')
  })
})

describe('the request of a task', () => {
  const request = (change: object) =>
    runHere(['task', 'request', '7'], () => ({
      task_id: 7,
      created_at: 0,
      group_id: null,
      actor: 'admin',
      address: null,
      body: '{"audience":"all"}',
      tokens_lost: 0,
      ...change,
    }))

  it('names the group that it was sent to', async () => {
    const { stdout, stderr } = await request({ group_id: 5 })
    expect(stdout).toBe('{"audience":"all"}\n')
    expect(stderr).toContain(
      'It was sent to the group 5 only. Send the body with the header group_id: 5, or it addresses the whole application.\n',
    )
    for (const other of [{}, { group_id: 5, body: null }])
      expect((await request(other)).stderr).not.toContain('group')
  })
})

it('tag add counts all unknown entries, also those that it does not list', async () => {
  const aliases = Array.from({ length: 150 }, (_, i) => ['--alias', `a${i}`]).flat()
  const { stdout } = await runHere(['tag', 'add', 'vip', ...aliases, '--json'], (_path, body) => ({
    added: 0,
    removed: 0,
    unknown: JSON.parse(body).add,
  }))
  const record = JSON.parse(stdout)
  expect(record.unknown).toHaveLength(100)
  expect(record).toMatchObject({ added: 0, removed: 0, unknown_count: 150 })
})

describe('a certificate that is saved again', () => {
  const saved = {
    provider: 2,
    environment: 1,
    region: 'cn',
    name: 'Shop',
    extra: { default_class: 'service', limits: { daily_quota: 5 }, callback_secret: '****abcd' },
  } as unknown as CertificateView
  const given: NewCertificate = { provider: 2, environment: 1, app_id: '1', app_secret: 'new' }

  it('keeps its name and extra', () => {
    expect(withSaved('huawei', given, {}, [saved])).toEqual({
      ...given,
      name: 'Shop',
      extra: { default_class: 'service', limits: { daily_quota: 5 } },
      keep: ['extra.callback_secret'],
    })
  })

  it('has the name and extra of the flags instead, also empty ones', () => {
    const flags = { ...given, name: '', extra: {} }
    expect(withSaved('huawei', flags, { extra: '{}' }, [saved])).toEqual(flags)
    const named = { ...given, extra: { receipt_id: 'r' } }
    expect(withSaved('huawei', named, { extra: '{"receipt_id":"r"}' }, [saved])).toEqual({
      ...named,
      name: 'Shop',
    })
  })

  it('takes nothing from another place', () => {
    const overseas = { ...saved, region: 'intl', name: 'Overseas', extra: { region: 'intl' } }
    const places = [
      { ...saved, provider: 3 as const, region: null },
      { ...saved, environment: 0 as const },
    ]
    expect(withSaved('huawei', given, {}, [...places, overseas])).toEqual(given)
    const abroad = { ...given, extra: { region: 'intl' } }
    expect(withSaved('huawei', abroad, {}, [saved, overseas])).toEqual({
      ...abroad,
      name: 'Overseas',
      keep: [],
    })
  })

  it('is read before it is saved', async () => {
    const args = ['certificate', 'set', 'huawei', '--client-id', '1', '--client-secret', 'new']
    const { calls } = await runHere(args, (path) =>
      path.endsWith('/list') ? [saved] : { saved: true, check: null, region: 'cn', warnings: [] },
    )
    expect(calls.map(({ path }) => path)).toEqual(['/admin/push/certificate/list', '/admin/push/certificate'])
    expect(JSON.parse(calls[1]!.body)).toMatchObject({ name: 'Shop', keep: ['extra.callback_secret'] })
  })
})

describe('a webhook that is saved again', () => {
  const url = 'https://crm.example.com/herald'
  const saved = { webhook_id: 3, name: 'crm', url, events: ['task.finished'], campaign: 'spring' }
  const set = async (name: string, ...flags: string[]) => {
    const { error, calls } = await runHere(['webhook', 'set', name, url, ...flags], (path) =>
      path.endsWith('/list') ? [{ ...saved, webhook_id: 4, name: 'other', campaign: 'x' }, saved] : saved,
    )
    expect(error).toBeUndefined()
    expect(calls.map(({ path }) => path)).toEqual(['/admin/webhook/list', '/admin/webhook'])
    return JSON.parse(calls[1]!.body)
  }

  it('keeps its events and its campaign', async () => {
    expect(await set('crm', '--rotate-secret')).toEqual({
      name: 'crm',
      url,
      events: ['task.finished'],
      campaign: 'spring',
      rotate_secret: true,
    })
  })

  it('has those of the flags instead, also an empty campaign', async () => {
    const given = await set('crm', '--events', 'device.sent,device.failed', '--campaign', 'autumn')
    expect(given).toEqual({ name: 'crm', url, events: ['device.sent', 'device.failed'], campaign: 'autumn' })
    expect(await set('crm', '--campaign', '')).toEqual({ name: 'crm', url, events: ['task.finished'] })
  })

  it('takes nothing from a webhook of another name: a new one gets all events', async () => {
    expect(await set('new')).toEqual({ name: 'new', url, events: [...eventNames] })
  })
})

describe('values of flags', () => {
  it('keep every digit of a number in a JSON object', () => {
    const text = '{"a":9007199254740993,"b":1.10,"c":[1e400],"d":"x"}'
    expect(toJson(readObject(text))).toBe(text)
  })

  it.each([['5'], ['[1]'], ['null'], ['{'], ['{"a":\n}']])('%j is not a JSON object', (text) => {
    expect(() => readObject(text)).toThrow(/^(Not valid JSON: .*|It must be a JSON object\.)$/)
  })

  it('accept a time in seconds, as a date or as an offset', () => {
    expect(readTime('1800000000')).toBe(1_800_000_000)
    expect(readTime('2027-01-31T08:00Z')).toBe(Date.UTC(2027, 0, 31, 8) / 1000)
    const now = jest.spyOn(Date, 'now').mockReturnValue(1_800_000_000_000)
    expect(readTime('+30m')).toBe(1_800_001_800)
    now.mockRestore()
    for (const text of ['tomorrow', '12', '+5', '2027-13-01'])
      expect(() => readTime(text)).toThrow(/It must be/)
  })

  it('are durations within bounds, words, or the word default', () => {
    expect(['0', '90', '30m', '1d'].map(seconds(0, 86_400))).toEqual([0, 90, 1800, 86_400])
    for (const text of ['2d', '-1', 'x', '', '1w'])
      expect(() => seconds(0, 86_400)(text)).toThrow('0 to 86400')
    expect(() => oneOf('a', 'b', 'c')('d')).toThrow('It must be a, b or c.')
    const read = orDefault(oneOf('a', 'b'))
    expect([read('a'), read('default')]).toEqual(['a', null])
    expect(() => read('c')).toThrow()
  })

  it('are numbers within bounds', () => {
    expect(wholeNumber(1, 9)('9')).toBe(9)
    for (const text of ['0', '10', '1.5', '-1', 'x', ''])
      expect(() => wholeNumber(1, 9)(text)).toThrow('from 1 to 9')
    expect(readId('9223372036854775807')).toBe(9223372036854775807n)
    expect(() => readId('1e3')).toThrow()
    expect(gather(readId)('2', [1n])).toEqual([1n, 2n])
  })
})

describe('the device or person that is asked about', () => {
  it.each<[WhoFlags, unknown]>([
    [{ device: 'g' }, { device_guid: 'g' }],
    [{ pushToken: 't' }, { push_token: 't' }],
    [{ alias: 'a' }, { alias: 'a' }],
    [{ user: 9007199254740993n }, { user_id: 9007199254740993n }],
  ])('%# is taken from one flag', (flags, who) => {
    expect(whoOf(flags)).toEqual(who)
  })

  it('is refused when it is missing or given twice', () => {
    expect(() => whoOf({})).toThrow('Use one of')
    expect(() => whoOf({ alias: 'a', device: 'g' })).toThrow('Use one of')
  })
})
