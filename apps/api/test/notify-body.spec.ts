import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createNotifyBodyReader, notifyBody } from '../src/notify/notify-body.ts'

/** Values that are right for some field and wrong or blank for others. */
const anything = fc.constantFrom<unknown>(
  undefined,
  null,
  '',
  ' ',
  'x',
  '+2',
  'high',
  'ospush_only',
  'https://example.com/a.png',
  'a\u0001b',
  0,
  1,
  -1,
  1.5,
  4_000_000_000,
  true,
  [],
  ['ups'],
  ['x'],
  {},
  { a: 1 },
)
const some = (names: readonly string[], of: Record<string, fc.Arbitrary<unknown>> = {}) =>
  fc.record(
    Object.fromEntries(names.map((name) => [name, of[name] ? fc.oneof(anything, of[name]) : anything])),
    { requiredKeys: [] },
  )
const message = some(
  [
    'type',
    'title',
    'body',
    'badge',
    'ext',
    'url',
    'click_action',
    'show_begin_time',
    'show_end_time',
    'ios',
    'unknown',
  ],
  {
    type: fc.constantFrom('text', 'image', 'cmd'),
    click_action: fc.constantFrom('url', 'open_app'),
    ios: fc.constantFrom({ sound: 'default' }, { live_activity: { event: 'end' } }, { nothing: 1 }),
  },
)
const setting = some([
  'request_id',
  'ttl',
  'speed',
  'priority',
  'distribution_strategy',
  'ospush_sequence',
  'unknown',
])
const audience = some(['tag', 'alias', 'user_id', 'push_token', 'activity', 'unknown'])
const bodies = fc.oneof(
  anything,
  fc.record(
    {
      audience: fc.oneof(anything, audience, fc.constant('all'), fc.constant({ alias: ['x'] })),
      setting: fc.oneof(anything, setting),
      message: fc.oneof(anything, message, fc.constant({ title: 'x' })),
      unknown: anything,
    },
    { requiredKeys: [] },
  ),
)

describe('the reader of notify bodies', () => {
  it('reads every body as the schema does, the first time and after a hundred times', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        const read = createNotifyBodyReader()
        const wanted = notifyBody.safeParse(body)
        expect(read(body)).toEqual(wanted)
        for (let i = 0; i < 100; i++) read(body)
        expect(read(body)).toEqual(wanted)
      }),
      { numRuns: 150 },
    )
  })

  it('checks the values of fields for which it has a schema of its own', () => {
    const read = createNotifyBodyReader()
    const body = (title: unknown, ttl: unknown) => ({
      audience: { alias: ['a'] },
      setting: { ttl },
      message: { title },
    })
    for (let i = 0; i < 200; i++) expect(read(body('x', i)).success).toBe(true)
    for (const wrong of [body(5, 1), body('', 1), body('x', -1), body('x', 'y')]) {
      expect(read(wrong).success).toBe(false)
      expect(read(wrong)).toEqual(notifyBody.safeParse(wrong))
    }
    expect(read({ ...body('x', 1), audience: {} }).success).toBe(false)
    expect(read({ ...body('x', 1), other: 1 }).success).toBe(false)
  })
})
