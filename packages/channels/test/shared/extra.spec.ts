import { describe, expect, it } from '@jest/globals'
import { CertificateProblem } from '../../src/channel.ts'
import {
  categoryWord,
  flag,
  idText,
  integer,
  oneOf,
  readExtra,
  requireField,
  requireWord,
  text,
  texts,
} from '../../src/shared/extra.ts'

const own = { name: text, id: idText, on: flag, list: texts, count: integer(1, 9) }
const classFields = { level: oneOf(1, 2), category: categoryWord(4, 'a category such as IM') }
const read = (extra: unknown) => readExtra(extra as Record<string, unknown>, own, classFields)

describe('reading extra', () => {
  it('reads a vendor’s own keys and the common ones', () => {
    expect(
      read({
        name: ' n ',
        id: 7,
        on: false,
        list: ['a', ' b '],
        count: 9,
        limits: { requests_per_s: 1, devices_per_s: 2, daily_quota: 0 },
        default_class: 'service',
        classes: { service: { level: 2, category: 'A_B' } },
      }),
    ).toEqual({
      name: 'n',
      id: '7',
      on: false,
      list: ['a', 'b'],
      count: 9,
      limits: { requestsPerSecond: 1, devicesPerSecond: 2, dailyQuota: 0 },
      defaultClass: 'service',
      classes: { service: { level: 2, category: 'A_B' }, marketing: {} },
    })
  })

  it.each([undefined, {}, { name: '', id: null, list: [], limits: {}, classes: {}, default_class: ' ' }])(
    'takes blanks in %j for “not set”',
    (extra) => {
      const { limits, defaultClass, classes, ...rest } = read(extra)
      expect({ limits, defaultClass, classes, rest }).toEqual({
        limits: {},
        defaultClass: 'marketing',
        classes: { service: {}, marketing: {} },
        rest: {},
      })
    },
  )

  const problems: [unknown, RegExp][] = [
    [[], /^extra must be a JSON object$/],
    [{ nmae: 1 }, /^extra\.nmae is not a known field; remove it or use one of name, id, /],
    [JSON.parse('{"__proto__": 1}'), /extra\.__proto__ is not a known field/],
    [{ toString: 'x' }, /extra\.toString is not a known field/],
    [{ name: 1 }, /^extra\.name must be a string$/],
    [{ id: 1.5 }, /extra\.id must be a string/],
    [{ on: 1 }, /extra\.on must be true or false/],
    [{ list: 'a' }, /extra\.list must be a list of non-blank strings/],
    [{ list: ['a', ''] }, /extra\.list/],
    [{ count: 10 }, /extra\.count must be a whole number from 1 to 9/],
    [{ count: '5' }, /extra\.count/],
    [{ default_class: 'promo' }, /default_class must be one of service, marketing/],
    [{ limits: 5 }, /extra\.limits must be a JSON object/],
    [{ limits: { per_s: 5 } }, /extra\.limits\.per_s is not a known field/],
    [{ limits: { devices_per_s: 0.5 } }, /extra\.limits\.devices_per_s must be a whole number/],
    [{ classes: { service: { level: 3 } } }, /extra\.classes\.service\.level must be one of 1, 2/],
    [{ classes: { service: { category: 'im' } } }, /service\.category must be a category such as IM$/],
    [{ classes: { service: { category: 'ABCDE' } } }, /service\.category must be a category/],
    [
      { classes: { vip: {} } },
      /extra\.classes\.vip is not a known field; remove it or use one of service, marketing/,
    ],
  ]
  it.each(problems)('refuses %j with a reason', (extra, sentence) => {
    expect(() => read(extra)).toThrow(CertificateProblem)
    expect(() => read(extra)).toThrow(sentence)
  })

  it('describes a missing field', () => {
    expect(requireField(' x ', 'app_key', 'the key')).toBe('x')
    expect(() => requireField(' ', 'app_key', 'the key')).toThrow('app_key is missing: enter the key')
    expect(requireWord(' x ', 'app_key', 'the key')).toBe('x')
    expect(() => requireWord('a b', 'app_key', 'the key')).toThrow('app_key must be the key, without spaces')
  })
})
