import type { ChannelCounters, FailureGroup, TaskView } from '@herald/client'
import { describe, expect, it } from '@jest/globals'
import { byTrouble, troubleOf } from '../src/calculations/channel-order.ts'
import { csvOf } from '../src/calculations/csv.ts'
import { funnelOf, shareOf } from '../src/calculations/funnel.ts'
import { notSentOf, waitsOf } from '../src/calculations/not-sent.ts'
import { pointsOf } from '../src/calculations/series.ts'
import { taskCsv } from '../src/calculations/task-csv.ts'
import { filterParams, isFiltered, readFilter, searchOf } from '../src/calculations/task-filter.ts'
import {
  actionsOf,
  addReading,
  barOf,
  type Reading,
  rateOf,
  shownState,
  timeLeft,
} from '../src/calculations/task-progress.ts'
import { askedOf, indentJson } from '../src/calculations/task-request.ts'

describe('the funnel', () => {
  const none = {
    target: 0,
    sent: 0,
    received: 0,
    clicked: 0,
    failed: 0,
    moved: 0,
    expired: 0,
    cancelled: 0,
    pending: 0,
  }
  const channel = (name: string, counts: Partial<ChannelCounters>): ChannelCounters => ({
    channel: name,
    ...none,
    ...counts,
  })
  const counters = [
    channel('huawei', { target: 10, sent: 8, received: 4, clicked: 1, failed: 2 }),
    channel('flyme', { target: 20, sent: 3, received: 1, moved: 10, expired: 2, cancelled: 1, pending: 4 }),
    channel('apns', {}),
  ]
  it('shows the channels with devices, the largest first, and counts each device once in all', () => {
    const { rows, steps, total } = funnelOf(counters)
    expect(rows.map((row) => row.channel)).toEqual(['flyme', 'huawei'])
    expect(steps.map(({ kind, count }) => [kind, count])).toEqual([
      ['target', 20],
      ['sent', 11],
      ['received', 5],
      ['clicked', 1],
    ])
    const { target, sent, failed, expired, cancelled, pending } = total
    expect(target).toBe(sent + failed + expired + cancelled + pending)
  })
  it('is empty without counters', () => {
    const { rows, steps, unreported } = funnelOf([])
    expect([rows, unreported]).toEqual([[], 0])
    expect(steps.map(({ share }) => share)).toEqual([undefined, undefined, undefined, undefined])
  })
  it('takes the share of received devices from channels that report', () => {
    const { rows, steps, reportable, unreported } = funnelOf([
      channel('huawei', { target: 10, sent: 8, received: 4 }),
      channel('apns', { target: 3, sent: 3, received: 1 }),
      channel('fcm', { target: 2, sent: 2 }),
    ])
    expect(rows.map(({ channel, reports }) => [channel, reports])).toEqual([
      ['huawei', true],
      ['apns', false],
      ['fcm', false],
    ])
    // Of the eight devices of Huawei four have received it; of the five others one app has said so.
    expect([reportable, unreported]).toEqual([8, 4])
    expect(steps.find(({ kind }) => kind === 'received')).toEqual({ kind: 'received', count: 5, share: 0.5 })
  })
  it('has shares between 0 and 1', () => {
    expect(shareOf(1, 0)).toBeUndefined()
    expect(shareOf(4, 8)).toBe(0.5)
    // A receipt may be counted before its send.
    expect(shareOf(2, 1)).toBe(1)
  })
})

describe('a task', () => {
  it.each([
    ['sending', ['pause', 'cancel']],
    ['scheduled', ['pause', 'cancel']],
    ['paused', ['resume', 'cancel']],
    ['cancelling', []],
    ['finished', []],
    ['cancelled', []],
  ])('that is %s allows the actions %j', (state, actions) => {
    expect(actionsOf({ state, waiting: 0 })).toEqual(actions)
  })
  it('that waits in inboxes only can be cancelled', () => {
    expect(actionsOf({ state: 'finished', waiting: 3 })).toEqual(['cancel'])
    expect(actionsOf({ state: 'cancelled', waiting: 3 })).toEqual([])
  })

  it.each([
    ['finished', { target: 3 }],
    ['nobody', { target: 0 }],
    ['unreachable', { target: 0, unreachable: 2 }],
    ['inboxes', { target: 3, waiting: 1 }],
    ['cancelled', { state: 'cancelled', target: 0 }],
    ['paused', { state: 'paused', target: 0 }],
  ])('is shown as %s', (shown, task) => {
    expect(shownState({ state: 'finished', unreachable: 0, waiting: 0, ...task })).toBe(shown)
  })

  it('has a bar by the results of its devices: cancelled ones are no success', () => {
    const task = { target: 100, sent: 60, failed: 0, expired: 0, cancelled: 30, pending: 10 }
    expect(barOf(task)).toEqual([
      { kind: 'sent', count: 60, share: 0.6 },
      { kind: 'cancelled', count: 30, share: 0.3 },
      { kind: 'pending', count: 10, share: 0.1 },
    ])
    expect(barOf({ ...task, target: 0 })).toEqual([])
  })

  it('has the rate of the last seconds, not of its whole time', () => {
    const read = (done: (second: number) => number, seconds: number) =>
      Array.from({ length: seconds }, (_, at): Reading => ({ at, done: done(at) })).reduce(
        addReading,
        [] as readonly Reading[],
      )
    // A thousand per second for a minute, then nothing.
    const stopped = read((second) => Math.min(second, 60) * 1000, 100)
    expect(rateOf(stopped)).toBe(0)
    expect(stopped.length).toBeLessThan(25)
    expect(rateOf(read((second) => second * 400, 100))).toBe(400)
    expect(rateOf(read((second) => second * 400, 3))).toBeUndefined()
    expect(rateOf([])).toBeUndefined()
    // The same reading again, after a request that failed, says nothing new.
    expect(addReading(stopped, stopped.at(-1)!)).toBe(stopped)
  })

  it.each([
    ['sending', 10, { kind: 'seconds', seconds: 7.5 }],
    ['sending', 0, { kind: 'stalled' }],
    ['sending', undefined, { kind: 'measuring' }],
    ['planning', 10, { kind: 'measuring' }],
    ['scheduled', undefined, { kind: 'scheduled' }],
    ['paused', 10, { kind: 'paused' }],
    ['finished', undefined, { kind: 'done' }],
  ])('that is %s at %p devices per second has %j left', (state, rate, left) => {
    expect(timeLeft({ state, pending: 75, waiting: 0 }, rate)).toEqual(left)
  })
})

describe('what was not sent', () => {
  const group = (channel: string, fate: string, code: string | null, count: number): FailureGroup => ({
    channel,
    fate,
    code,
    reason: code ?? 'old',
    count,
    since: null,
    next_attempt_at: null,
    samples: [{ device_id: count, device_guid: null }],
  })
  it('has failures first, cancelled devices of all channels in one line, moved ones last', () => {
    const groups = [
      group('vivo', 'moved', 'vivo.1', 900),
      group('oppo', 'cancelled', 'herald.task_cancelled', 5),
      group('vivo', 'cancelled', 'herald.task_cancelled', 7),
      group('vivo', 'failed', 'herald.no_certificate', 1),
      group('oppo', 'failed', 'herald.no_certificate', 2),
      group('oppo', 'waiting', 'herald.vendor_silent', 3),
    ]
    expect(notSentOf(groups).map(({ fate, channels, count }) => [fate, channels, count])).toEqual([
      ['failed', ['oppo'], 2],
      ['failed', ['vivo'], 1],
      ['cancelled', ['oppo', 'vivo'], 12],
      ['moved', ['vivo'], 900],
    ])
  })

  it('waits for a vendor by channel, for the task itself in one line, and for what can be acted on first', () => {
    const groups = [
      { ...group('vivo', 'waiting', 'herald.speed_limited', 300), next_attempt_at: 70 },
      { ...group('oppo', 'waiting', 'herald.speed_limited', 200), next_attempt_at: 60, since: 5 },
      group('oppo', 'waiting', 'herald.vendor_silent', 3),
      group('vivo', 'waiting', 'herald.vendor_silent', 4),
      group('vivo', 'failed', 'herald.no_certificate', 1),
    ]
    expect(
      waitsOf(groups).map(({ channels, count, since, next_attempt_at }) => [
        channels,
        count,
        since,
        next_attempt_at,
      ]),
    ).toEqual([
      [['vivo'], 4, null, null],
      [['oppo'], 3, null, null],
      [['vivo', 'oppo'], 500, 5, 60],
    ])
  })
})

describe('the request of a task', () => {
  const body =
    '{"audience":{"user_id":[9007199254740993,7]},"setting":{"distribution_strategy":"combined","ospush_sequence":["ups","fcm"],"ttl":60},' +
    '"message":{"type":"text","title":"a \\"b\\" {c}: [d], e","ext":{ "n": 9007199254740993, "empty": { }, "list": [1, {"x":2}] }}}'
  it('is read with all digits', () => {
    expect(askedOf(body)).toMatchObject({
      audience: { kind: 'user_id', values: ['9007199254740993', '7'] },
      strategy: 'combined',
      ttl: 60,
      message: { title: 'a "b" {c}: [d], e' },
    })
    expect(askedOf(body.replace('{"user_id":[9007199254740993,7]}', '"all"')).audience).toEqual({
      kind: 'all',
    })
  })
  it('is indented without a change of its values', () => {
    const text = indentJson(body)
    expect(text).toContain('"n": 9007199254740993,')
    expect(text).toContain('"title": "a \\"b\\" {c}: [d], e"')
    expect(text).toContain('"empty": {}')
    expect(text.split('\n').length).toBeGreaterThan(12)
    const plain = (json: string) => JSON.parse(json)
    expect(plain(text)).toEqual(plain(body))
  })
})

describe('the filter of tasks', () => {
  const read = (query: string) => readFilter(new URLSearchParams(query))
  it('shows broadcasts unless all are asked for', () => {
    expect(searchOf(read(''))).toEqual({ broadcasts: true })
    expect(searchOf(read('all=1'))).toEqual({})
    expect([isFiltered(read('all=1')), isFiltered(read('title=x'))]).toEqual([false, true])
  })
  it('reads what the URL has and ignores what nobody can mean', () => {
    const filter = read(
      'state=scheduled&title=sale&min=100&from=2026-11-01&to=2026-11-02&actor=operator&campaign=c&all=1',
    )
    expect(searchOf(filter)).toEqual({
      state: 'scheduled',
      title: 'sale',
      min_target: 100,
      actor: 'operator',
      campaign: 'c',
      from: new Date(2026, 10, 1).getTime() / 1000,
      // The last day is included.
      to: new Date(2026, 10, 3).getTime() / 1000,
    })
    expect(read(new URLSearchParams(filterParams(filter)).toString())).toEqual(filter)
    expect(searchOf(read('state=none&min=-1&from=yesterday&all=2'))).toEqual({ broadcasts: true })
  })
})

describe('a CSV file', () => {
  it('quotes what needs it and starts no formula', () => {
    expect(
      csvOf(
        ['a', 'b'],
        [
          ['x,"y"', 1],
          ['=1+1', null],
          ['two\nlines', -3],
        ],
      ),
    ).toBe('\uFEFFa,b\r\n"x,""y""",1\r\n\'=1+1,\r\n"two\nlines",-3\r\n')
  })
  it('of tasks has the names of the API and times that everybody reads the same', () => {
    const task = { task_id: 7, state: 'finished', title: 'Hi', created_at: 0, finished_at: null, target: 3 }
    const [head, row] = taskCsv([task as unknown as TaskView])
      .slice(1)
      .split('\r\n')
    expect(head).toMatch(/^task_id,state,title,campaign,actor,created_at,/)
    expect(row).toMatch(/^7,finished,Hi,/)
    expect(row).toContain('1970-01-01T00:00:00.000Z')
  })
})

describe('channels', () => {
  const good = { state: 'open', breaker: null, failing: false, held: [] }
  const channel = (name: string, state: string, certificate: object = good, sent_10m = 0) =>
    ({ channel: name, state, certificates: [certificate], sent_10m }) as unknown as Parameters<
      typeof troubleOf
    >[0]
  it('with problems come first', () => {
    const list = [
      channel('apns', 'working', good, 1),
      channel('fcm', 'working', good, 9),
      channel('oppo', 'working', { ...good, state: 'suspect' }),
      channel('vivo', 'failing', { ...good, failing: true }),
    ]
    expect(byTrouble(list).map((one) => one.channel)).toEqual(['vivo', 'oppo', 'fcm', 'apns'])
    expect(list.map(troubleOf)).toEqual(['none', 'none', 'part', 'all'])
  })
})

describe('a series', () => {
  const series = {
    from: 100,
    step: 10,
    channels: [
      { channel: 'apns', sent: [1, 2], failed: [0, 0] },
      { channel: 'fcm', sent: [10, 0], failed: [1, 0] },
    ],
  }
  it('is added up, or of one channel', () => {
    expect(pointsOf(series)).toEqual([
      { at: 100, sent: 11, failed: 1 },
      { at: 110, sent: 2, failed: 0 },
    ])
    expect(pointsOf(series, 'fcm').map(({ sent }) => sent)).toEqual([10, 0])
    expect(pointsOf(series, 'vivo')).toEqual([])
  })
})
