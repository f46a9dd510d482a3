import { toJson } from '@herald/domain'
import { describe, expect, it, jest } from '@jest/globals'
import type { Command } from 'commander'
import { type WhoFlags, whoOf } from '../src/commands/task-history.ts'
import { type AudienceFlags, audienceOf, messageOf, notificationOf, settingOf } from '../src/notification.ts'
import { gather, oneOf, orDefault, readId, readObject, readTime, seconds, wholeNumber } from '../src/parse.ts'
import { createProgram } from '../src/program.ts'

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
