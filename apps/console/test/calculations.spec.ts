import type { DeviceView } from '@herald/client'
import { describe, expect, it, jest } from '@jest/globals'
import { findDevices, listDevices, putDevice } from '../src/api/calls.ts'
import { hasSums } from '../src/api/export.ts'
import { splitDuration } from '../src/calculations/duration.ts'
import { daysUntil, expiryOf } from '../src/calculations/expiry.ts'
import { formatIn, shorten } from '../src/calculations/format.ts'
import { localTime, secondsOf } from '../src/calculations/local-time.ts'
import { fillPeriods, rangeOf, receivedShareOf } from '../src/calculations/stats.ts'
import { changeOf as deviceChange, formOf as deviceForm } from '../src/pages/device/device-change.ts'
import { changeOf as settingsChange, formOf as settingsForm } from '../src/pages/settings/settings-change.ts'

describe('statistics', () => {
  const none = { target: 0, sent: 0, failed: 0, received: 0, clicked: 0, unreachable: 0 }
  const now = new Date(2026, 10, 16, 14, 25, 31)
  const local = (...date: [number, number, number, number?]) => new Date(...date).getTime() / 1000

  it('cover 24 whole hours, the present one included', () => {
    const { from, to, by } = rangeOf('24h', now.getTime())
    expect([by, to - from]).toEqual(['hour', 24 * 3600])
    expect([from % 3600, to % 3600]).toEqual([0, 0])
    expect(to - now.getTime() / 1000).toBeGreaterThan(0)
    expect(to - now.getTime() / 1000).toBeLessThanOrEqual(3600)
  })

  it('cover days from midnight to midnight of the reader, today included', () => {
    expect(rangeOf('7d', now.getTime())).toEqual({
      from: local(2026, 10, 10),
      to: local(2026, 10, 17),
      by: 'day',
    })
    expect(rangeOf('30d', now.getTime())).toEqual({
      from: local(2026, 9, 18),
      to: local(2026, 10, 17),
      by: 'day',
    })
  })

  it('have an entry for periods without pushes', () => {
    const range = { from: 7200, to: 18_000, by: 'hour' } as const
    expect(fillPeriods(range, [{ at: 10_800, ...none, target: 5 }])).toEqual([
      { at: 7200, ...none },
      { at: 10_800, ...none, target: 5 },
      { at: 14_400, ...none },
    ])
  })

  it('compute the share of received devices from channels that report', () => {
    const huawei = { channel: 'huawei', ...none, sent: 10, received: 5 }
    const apns = { channel: 'apns', ...none, sent: 90 }
    expect(receivedShareOf([huawei, apns])).toBe(0.5)
    expect(receivedShareOf([apns])).toBeUndefined()
  })
})

describe('the value of a time input', () => {
  it('is local time, and back', () => {
    const seconds = new Date(2026, 0, 5, 7, 9).getTime() / 1000
    expect(localTime(seconds * 1000)).toBe('2026-01-05T07:09')
    expect(secondsOf('2026-01-05T07:09')).toBe(seconds)
    expect([secondsOf(''), secondsOf('soon')]).toEqual([undefined, undefined])
  })
})

describe('an export', () => {
  it('is complete if its last line has the sums', () => {
    expect(hasSums('{"device_id":1}\n{"sums":{"apns":{"target":1}},"lines":1}\n')).toBe(true)
    expect(hasSums('{"device_id":1}\n')).toBe(false)
    // Cut off within the last line, or right before its end.
    expect(hasSums('{"device_id":1}\n{"sums":{"apns"')).toBe(false)
    expect(hasSums('{"device_id":1}\n{"sums":{},"lines":1}')).toBe(false)
    expect(hasSums('')).toBe(false)
  })
})

describe('durations', () => {
  it.each([
    [0, []],
    [-3, []],
    [0.2, [['s', 1]]],
    [59, [['s', 59]]],
    [60, [['m', 1]]],
    [
      3661,
      [
        ['h', 1],
        ['m', 1],
      ],
    ],
    [3601, [['h', 1]]],
    [
      200_000,
      [
        ['d', 2],
        ['h', 7],
      ],
    ],
  ])('of %d seconds have at most two units', (seconds, parts) => {
    expect(splitDuration(seconds).map(({ unit, n }) => [unit, n])).toEqual(parts)
  })
})

describe('expiry', () => {
  const day = 86_400
  it.each([
    [null, { kind: 'never' }],
    [1000, { kind: 'expired', days: 0 }],
    [1000 - day, { kind: 'expired', days: -1 }],
    [1000 + 29 * day, { kind: 'soon', days: 29 }],
    [1000 + 31 * day, { kind: 'fine', days: 31 }],
  ])('of %j is relative to now', (expiresAt, expiry) => {
    expect(expiryOf(expiresAt, 1000)).toEqual(expiry)
  })

  it('counts days by the calendar of the reader', () => {
    const at = (day: number, hour: number) => new Date(2026, 10, day, hour).getTime() / 1000
    const now = at(16, 20)
    expect([at(16, 23), at(17, 8), at(18, 8)].map((time) => daysUntil(time, now))).toEqual([0, 1, 2])
    expect(formatIn('en').relative({ value: daysUntil(at(17, 8), now), unit: 'day' })).toBe('tomorrow')
  })
})

it('numbers and times are formatted for the language', () => {
  expect(formatIn('en').number(1234567.89)).toBe('1,234,567.9')
  expect(formatIn('en').percent(0.9231)).toBe('92.3%')
  expect(formatIn('en').time(0)).toMatch(/^\w+ \d+, \d{4}, \d\d:\d\d:\d\d$/)
  expect(formatIn('zh').time(0)).toContain('1970年')
  expect(formatIn('en').time(null)).toBe('')
})

it('long secrets are shortened', () => {
  expect(shorten('abcdefghijklmnopqrstuvwxyz')).toBe('abcdef…uvwxyz')
  expect(shorten('abc')).toBe('abc')
})

it('devices are searched by what their text can be: the API refuses longer ones', async () => {
  let asked: string[] = []
  const answer = async (_path: unknown, init?: { body?: unknown }) => {
    asked.push(...Object.keys(JSON.parse(String(init?.body))).filter((key) => key !== 'limit'))
    return new Response('{"code":200,"data":{"list":[],"next":null},"message":null}')
  }
  const fetching = jest.spyOn(globalThis, 'fetch').mockImplementation(answer)
  const searchesFor = async (length: number) => {
    asked = []
    expect(await findDevices('a', '😀'.repeat(length), 5)).toBeUndefined()
    return asked
  }
  try {
    expect(await searchesFor(255)).toEqual(['device_guid', 'token', 'alias'])
    expect(await searchesFor(256)).toEqual(['token', 'alias'])
    expect(await searchesFor(2048)).toEqual(['token'])
  } finally {
    fetching.mockRestore()
  }
})

describe('the form of a device', () => {
  const device = {
    device_guid: 'g',
    alias: 'a',
    tags: ['x', 'y'],
    user_id: null,
    platform: 'android',
    locale: null,
    timezone: 'Asia/Shanghai',
    app_version: null,
    attributes: { level: 3 },
    enabled: true,
  } as unknown as DeviceView

  it('sends only what was changed, and null for what was emptied', () => {
    const form = deviceForm(device)
    expect(deviceChange(device, form)).toBeUndefined()
    expect(deviceChange(device, { ...form, alias: ' a ' })).toBeUndefined()
    expect(
      deviceChange(device, {
        ...form,
        alias: ' ',
        userId: '9007199254740993',
        timezone: '',
        tags: [],
        attributes: '',
        enabled: false,
      }),
    ).toEqual({
      device_guid: 'g',
      alias: null,
      user_id: '9007199254740993',
      timezone: null,
      tags: [],
      attributes: null,
      enabled: false,
    })
  })

  it('keeps every digit of a large number, in what it shows and in what it sends', async () => {
    const attributes = '{"crm_id":9007199254740993,"plan":"free"}'
    const stored = `{"device_guid":"g","user_id":9007199254740995,"tags":[],"attributes":${attributes}}`
    const sent: unknown[] = []
    const answer = async (_path: unknown, init?: { body?: unknown }) => {
      sent.push(init?.body)
      return new Response(`{"code":200,"data":{"list":[${stored}],"next":null},"message":null}`)
    }
    const fetching = jest.spyOn(globalThis, 'fetch').mockImplementation(answer)
    try {
      const { list } = await listDevices('a', { device_guid: 'g' })
      const form = deviceForm(list[0]!)
      expect(form.userId).toBe('9007199254740995')
      expect(form.attributes).toBe('{\n  "crm_id": 9007199254740993,\n  "plan": "free"\n}')
      const change = deviceChange(list[0]!, { ...form, attributes: form.attributes.replace('free', 'pro') })
      await putDevice('a', change!)
      expect(sent[1]).toBe('{"device_guid":"g","attributes":{"crm_id":9007199254740993,"plan":"pro"}}')
    } finally {
      fetching.mockRestore()
    }
  })
})

describe('the form of the settings', () => {
  const settings = {
    default_strategy: 'combined',
    default_ttl: 86_400,
    register: false,
    register_per_day: 10_000,
    caps: { per_device_per_day: null },
  } as const

  it('sends only what was changed, and null for what was emptied', () => {
    const form = settingsForm(settings)
    expect(settingsChange(settings, form)).toBeUndefined()
    expect(
      settingsChange(settings, {
        ...form,
        ttl: '',
        perDevicePerDay: '0',
        register: true,
        strategy: 'ospush_only',
      }),
    ).toEqual({
      default_strategy: 'ospush_only',
      default_ttl: null,
      register: true,
      caps: { per_device_per_day: 0 },
    })
  })
})
