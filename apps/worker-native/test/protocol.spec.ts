import { describe, expect, it } from '@jest/globals'
import { pushFrame } from '../src/frames.ts'
import { type Event, type State, step } from '../src/protocol.ts'
import { plainMessage } from './harness.ts'

const text = (frame: unknown): Event => ({
  kind: 'text',
  text: typeof frame === 'string' ? frame : JSON.stringify(frame),
})
const hello = text({ op: 'hello', push_token: 'abc' })
const ack = text({ op: 'ack', task_ids: [1, 2] })
const lookUp = { do: 'look up', pushToken: 'abc', beats: false, away: false }

describe('the protocol', () => {
  const rows: [State, string, Event, State, unknown][] = [
    ['unidentified', 'hello', hello, 'identifying', lookUp],
    [
      'unidentified',
      'hello of an app in the background',
      text({ op: 'hello', push_token: 'abc', beats: true, away: true }),
      'identifying',
      { ...lookUp, beats: true, away: true },
    ],
    [
      'unidentified',
      'hello with other values and unknown fields',
      text({ op: 'hello', push_token: 'abc', beats: 1, away: 'true', later: {} }),
      'identifying',
      lookUp,
    ],
    ['unidentified', 'hello without token', text({ op: 'hello' }), 'over', 4401],
    [
      'unidentified',
      'hello with a token that is too long',
      text({ op: 'hello', push_token: 'x'.repeat(129) }),
      'over',
      4401,
    ],
    ['unidentified', 'hello with a number', text({ op: 'hello', push_token: 5 }), 'over', 4401],
    ['unidentified', 'ack', ack, 'over', 4401],
    ['unidentified', 'unknown op', text({ op: 'subscribe' }), 'over', 4400],
    ['unidentified', 'no op', text({}), 'over', 4400],
    ['unidentified', 'invalid JSON', text('{"op":'), 'over', 4400],
    ['unidentified', 'a list', text([]), 'over', 4400],
    ['unidentified', 'null', text('null'), 'over', 4400],
    ['unidentified', 'binary', { kind: 'binary' }, 'over', 4400],
    ['unidentified', 'hello timeout', { kind: 'hello timeout' }, 'over', 4401],
    ['identifying', 'hello timeout', { kind: 'hello timeout' }, 'identifying', { do: 'nothing' }],
    ['identifying', 'identified', { kind: 'identified' }, 'open', { do: 'welcome' }],
    ['identifying', 'an unknown token', { kind: 'end', why: 'unknownToken' }, 'over', 4401],
    ['identifying', 'hello again', hello, 'over', 4400],
    ['identifying', 'ack', ack, 'over', 4400],
    ['open', 'ack', ack, 'open', { do: 'acknowledge', taskIds: [1, 2] }],
    [
      'open',
      'ack of strings',
      text({ op: 'ack', task_ids: ['17'] }),
      'open',
      { do: 'acknowledge', taskIds: [17] },
    ],
    ['unidentified', 'away', text({ op: 'away' }), 'over', 4401],
    ['identifying', 'here', text({ op: 'here' }), 'over', 4400],
    ['open', 'away', text({ op: 'away' }), 'open', { do: 'change presence', away: true }],
    ['open', 'here', text({ op: 'here' }), 'open', { do: 'change presence', away: false }],
    ['open', 'ack of nothing', text({ op: 'ack', task_ids: [] }), 'over', 4400],
    ['open', 'ack without a list', text({ op: 'ack', task_ids: 1 }), 'over', 4400],
    ['open', 'ack of zero', text({ op: 'ack', task_ids: [0] }), 'over', 4400],
    ['open', 'ack beyond 2^53', text('{"op":"ack","task_ids":[9007199254740993]}'), 'over', 4400],
    ['open', 'ack of too many', text({ op: 'ack', task_ids: Array(1001).fill(1) }), 'over', 4400],
    ['open', 'hello again', hello, 'over', 4400],
    ['open', 'unknown op', text({ op: '__proto__' }), 'over', 4400],
    ['open', 'replaced', { kind: 'end', why: 'replaced' }, 'over', 4409],
    ['open', 'draining', { kind: 'end', why: 'draining' }, 'over', 4503],
    ['open', 'slow', { kind: 'end', why: 'slow' }, 'over', 4408],
    ['open', 'flooding', { kind: 'end', why: 'flooding' }, 'over', 4429],
    ['over', 'hello', hello, 'over', { do: 'nothing' }],
    ['over', 'identified', { kind: 'identified' }, 'over', { do: 'nothing' }],
  ]
  it.each(rows)('%s + %s', (state, _name, event, next, wanted) => {
    const { state: after, action } = step(state, event)
    expect(after).toBe(next)
    if (typeof wanted === 'number') expect(action).toMatchObject({ do: 'close', code: wanted })
    else expect(action).toEqual(wanted)
  })

  it('has one reason for a missing hello and another for a token that cannot exist', () => {
    // The client compares this text, and reconnects only after this one.
    const noHello = { do: 'close', code: 4401, reason: 'no hello with a push token was received' }
    expect(step('unidentified', { kind: 'hello timeout' }).action).toEqual(noHello)
    const unknown = { do: 'close', code: 4401, reason: 'no device has this push token' }
    for (const push_token of [undefined, '', 'a b', 5])
      expect(step('unidentified', text({ op: 'hello', push_token })).action).toEqual(unknown)
  })

  it('reaches open only by a hello and a lookup', () => {
    const events = rows.map(([, , event]) => event)
    for (const event of events) expect(step('unidentified', event).state).not.toBe('open')
    const opened = events.filter((event) => step('identifying', event).state === 'open')
    expect(new Set(opened.map(({ kind }) => kind))).toEqual(new Set(['identified']))
  })
})

describe('a push frame', () => {
  it('is JSON with the original text of ext', () => {
    const frame = pushFrame(7, { ...plainMessage, ext: '{"n":12345678901234567890,"f":1.0}' })
    expect(frame).toContain('"ext":{"n":12345678901234567890,"f":1.0}')
    expect(JSON.parse(frame)).toMatchObject({
      op: 'push',
      task_id: 7,
      message: { badge: '+1', type: 'text' },
    })
  })

  it('has what the app applies itself', () => {
    const said = { collapseKey: 'order-7', foreground: 'hide', urgent: true } as const
    const frame = pushFrame(7, { ...plainMessage, ...said, url: 'myapp://orders/7' })
    expect(JSON.parse(frame).message).toMatchObject({
      click_action: 'url',
      url: 'myapp://orders/7',
      collapse_key: 'order-7',
      foreground: 'hide',
      urgent: true,
    })
  })

  it('of a withdrawal is a cmd that names the first task and has nothing of its message', () => {
    const frame = pushFrame(9, { ...plainMessage, ext: '{"n":1}', recall: { taskId: 7, withdraw: true } })
    expect(JSON.parse(frame)).toEqual({ op: 'push', task_id: 9, message: { type: 'cmd', recalls: 7 } })
  })

  it('of a replacement names the first task', () => {
    const frame = pushFrame(9, { ...plainMessage, recall: { taskId: 7 } })
    expect(JSON.parse(frame).message).toMatchObject({ type: 'text', replaces: 7 })
  })

  it('omits empty fields', () => {
    expect(Object.keys(JSON.parse(pushFrame(7, plainMessage)).message)).toEqual([
      'type',
      'title',
      'body',
      'badge',
    ])
  })
})
