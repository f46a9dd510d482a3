import { describe, expect, it } from '@jest/globals'
import { pushFrame } from '../src/frames.ts'
import { createGatherer } from '../src/gather.ts'
import { type Event, type State, step } from '../src/protocol.ts'
import { createRateLimiter } from '../src/rate-limiter.ts'
import { plainMessage } from './stage.ts'

const text = (frame: unknown): Event => ({
  kind: 'text',
  text: typeof frame === 'string' ? frame : JSON.stringify(frame),
})
const hello = text({ op: 'hello', push_token: 'abc' })
const ack = text({ op: 'ack', task_ids: [1, 2] })

describe('the protocol', () => {
  const rows: [State, string, Event, State, unknown][] = [
    ['strange', 'hello', hello, 'greeting', { do: 'look up', pushToken: 'abc' }],
    ['strange', 'hello without token', text({ op: 'hello' }), 'over', 4401],
    [
      'strange',
      'hello with an endless token',
      text({ op: 'hello', push_token: 'x'.repeat(129) }),
      'over',
      4401,
    ],
    ['strange', 'hello with a number', text({ op: 'hello', push_token: 5 }), 'over', 4401],
    ['strange', 'ack', ack, 'over', 4401],
    ['strange', 'unknown op', text({ op: 'subscribe' }), 'over', 4400],
    ['strange', 'no op', text({}), 'over', 4400],
    ['strange', 'no JSON', text('{"op":'), 'over', 4400],
    ['strange', 'a list', text([]), 'over', 4400],
    ['strange', 'null', text('null'), 'over', 4400],
    ['strange', 'binary', { kind: 'binary' }, 'over', 4400],
    ['strange', 'time is up', { kind: 'time is up' }, 'over', 4401],
    ['greeting', 'time is up', { kind: 'time is up' }, 'greeting', { do: 'nothing' }],
    ['greeting', 'recognised', { kind: 'recognised' }, 'open', { do: 'welcome' }],
    ['greeting', 'an unknown token', { kind: 'end', why: 'unknownToken' }, 'over', 4401],
    ['greeting', 'hello again', hello, 'over', 4400],
    ['greeting', 'ack', ack, 'over', 4400],
    ['open', 'ack', ack, 'open', { do: 'acknowledge', taskIds: [1, 2] }],
    [
      'open',
      'ack of strings',
      text({ op: 'ack', task_ids: ['17'] }),
      'open',
      { do: 'acknowledge', taskIds: [17] },
    ],
    ['open', 'ack of nothing', text({ op: 'ack', task_ids: [] }), 'over', 4400],
    ['open', 'ack without a list', text({ op: 'ack', task_ids: 1 }), 'over', 4400],
    ['open', 'ack of zero', text({ op: 'ack', task_ids: [0] }), 'over', 4400],
    ['open', 'ack beyond 2^53', text('{"op":"ack","task_ids":[9007199254740993]}'), 'over', 4400],
    ['open', 'ack of too many', text({ op: 'ack', task_ids: Array(1001).fill(1) }), 'over', 4400],
    ['open', 'hello again', hello, 'over', 4400],
    ['open', 'unknown op', text({ op: '__proto__' }), 'over', 4400],
    ['open', 'replaced', { kind: 'end', why: 'replaced' }, 'over', 4409],
    ['open', 'moving', { kind: 'end', why: 'moving' }, 'over', 4503],
    ['open', 'slow', { kind: 'end', why: 'slow' }, 'over', 4408],
    ['open', 'flooding', { kind: 'end', why: 'flooding' }, 'over', 4429],
    ['over', 'hello', hello, 'over', { do: 'nothing' }],
    ['over', 'recognised', { kind: 'recognised' }, 'over', { do: 'nothing' }],
  ]
  it.each(rows)('%s + %s', (state, _name, event, next, wanted) => {
    const { state: after, action } = step(state, event)
    expect(after).toBe(next)
    if (typeof wanted === 'number') expect(action).toMatchObject({ do: 'close', code: wanted })
    else expect(action).toEqual(wanted)
  })

  it('reaches open by a hello and a lookup only', () => {
    const events = rows.map(([, , event]) => event)
    for (const event of events) expect(step('strange', event).state).not.toBe('open')
    const opened = events.filter((event) => step('greeting', event).state === 'open')
    expect(new Set(opened.map(({ kind }) => kind))).toEqual(new Set(['recognised']))
  })
})

describe('a push frame', () => {
  it('is JSON whose ext is the text that came', () => {
    const frame = pushFrame(7, { ...plainMessage, ext: '{"n":12345678901234567890,"f":1.0}' })
    expect(frame).toContain('"ext":{"n":12345678901234567890,"f":1.0}')
    expect(JSON.parse(frame)).toMatchObject({
      op: 'push',
      task_id: 7,
      message: { badge: '+1', type: 'text' },
    })
  })

  it('leaves out what is blank', () => {
    expect(Object.keys(JSON.parse(pushFrame(7, plainMessage)).message)).toEqual([
      'type',
      'title',
      'body',
      'badge',
    ])
  })
})

describe('a gatherer', () => {
  it('hands over together what comes together, in order, one hand-over at a time', async () => {
    const groups: number[][] = []
    let busy = 0
    const gatherer = createGatherer<number>({
      ms: 5,
      most: 3,
      async take(items) {
        expect(++busy).toBe(1)
        await new Promise((resolve) => setTimeout(resolve, 10))
        groups.push(items)
        busy--
      },
    })
    for (let n = 0; n < 8; n++) gatherer.add(n)
    await gatherer.flushed()
    expect(groups.flat()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(Math.max(...groups.map((group) => group.length))).toBe(3)
    gatherer.add(8)
    await gatherer.flushed()
    expect(groups.at(-1)).toEqual([8])
    await gatherer.flushed()
  })
})

describe('the rate limiter', () => {
  it('allows a burst, then a steady rate, each key for itself', () => {
    let now = 0
    const limiter = createRateLimiter({ burst: 3, perSecond: 2 }, () => now)
    const allowed = (key: string) => [1, 2, 3, 4, 5].filter(() => limiter.allows(key)).length
    expect(allowed('a')).toBe(3)
    expect(allowed('b')).toBe(3)
    now += 1000
    expect(allowed('a')).toBe(2)
    now += 100_000
    expect(allowed('a')).toBe(3)
  })
})
