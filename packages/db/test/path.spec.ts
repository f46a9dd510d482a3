import { ownReasons } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { foldPath, type PathStep, type Place, resultOf } from '../src/history/path.ts'
import { joinGroups, type OpenRecipients, whyWaiting } from '../src/history/waiting.ts'

type Batch = Extract<Place, { kind: 'batch' | 'bundle' }>
const batch = (letter: string, change: Partial<Batch> = {}): Place => ({
  kind: 'batch',
  id: 7,
  channel: 'huawei',
  letter,
  state: 'settled',
  at: 1000,
  notBefore: 500,
  afterNative: false,
  whys: [],
  ...change,
})
const native = (letter: string, change: Partial<Batch> = {}) =>
  batch(letter, { channel: 'native', id: 3, ...change })
const inbox = (sentAt: number | null, fallbackAt: number | null = null): Place => ({
  kind: 'inbox',
  plannedAt: 100,
  sentAt,
  fallbackAt,
})
const record = (letter: string, f?: string): Place => ({
  kind: 'record',
  letter,
  at: 2000,
  whys: f === undefined ? [] : [{ f, c: 'herald.expired_in_inbox', t: 'too late', p: [0] }],
})
const receipt = (channel: 'native' | 'huawei', clickedAt: number | null = null): Place => ({
  kind: 'receipt',
  channel,
  receivedAt: 3000,
  clickedAt,
})
const short = ({ channel, fate, code, at, nextAt }: PathStep) =>
  `${channel} ${fate} ${code ?? '-'} ${at ?? '-'}${nextAt === null ? '' : ` next ${nextAt}`}`

const cases: [name: string, places: Place[], path: string[]][] = [
  ['no recipient', [], []],
  ['sent', [batch('s')], ['huawei sent - 1000']],
  ['in a bundle', [batch('s', { kind: 'bundle' })], ['huawei sent - 1000']],
  [
    'failed, with its reason',
    [batch('f', { whys: [{ f: 'failed', c: 'huawei.80300007', t: 'bad', p: [0] }] })],
    ['huawei failed huawei.80300007 1000'],
  ],
  [
    'a reason of its own comes before that of the rest of its batch',
    [
      batch('x', {
        whys: [
          { f: 'expired', c: 'herald.device_disabled', t: '', p: [0] },
          { f: 'expired', c: 'herald.expired_waiting', t: '' },
        ],
      }),
    ],
    ['huawei expired herald.device_disabled 1000'],
  ],
  [
    'a reason of another fate does not apply',
    [batch('s', { whys: [{ f: 'pending', c: 'huawei.81000001', t: '', p: [0] }] })],
    ['huawei sent - 1000'],
  ],
  [
    'moved to the next channel',
    [batch('s', { id: 9, channel: 'fcm', at: 1500 }), batch('m')],
    ['huawei moved - 1000', 'fcm sent - 1500'],
  ],
  [
    'pending, tried before',
    [batch('.', { state: 'ready', whys: [{ f: 'pending', c: 'huawei.81000001', t: '', p: [0] }] })],
    ['huawei pending huawei.81000001 - next 500'],
  ],
  [
    'pending until the certificate can be used again',
    [batch('.', { state: 'ready', notBefore: Infinity })],
    ['huawei pending herald.waiting_for_turn -'],
  ],
  ['pending, held', [batch('.', { state: 'held' })], ['huawei pending herald.task_paused -']],
  ['pending, paced', [batch('.', { state: 'paced' })], ['huawei pending herald.speed_limited - next 500']],
  ['being sent', [batch('.', { state: 'sending' })], ['huawei pending herald.being_sent -']],
  ['native, written', [native('s'), inbox(900)], ['nativepush sent - 1000']],
  ['native, acknowledged', [native('s'), receipt('native')], ['nativepush sent - 1000']],
  ['in the inbox', [inbox(null)], ['nativepush pending herald.offline_to_inbox -']],
  [
    'in the inbox after its batch',
    [native('i'), inbox(null, 4000)],
    ['nativepush pending herald.offline_to_inbox - next 4000'],
  ],
  ['sent from the inbox', [native('i'), inbox(1200)], ['nativepush sent - 1200']],
  ['acknowledged from the inbox', [native('i'), receipt('native')], ['nativepush sent - 3000']],
  ['acknowledged, never in a batch', [receipt('native')], ['nativepush sent - 3000']],
  ['expired in the inbox', [record('x', 'expired')], ['nativepush expired herald.expired_in_inbox 2000']],
  [
    'expired in the inbox, then a late acknowledgement: the counters say expired and received',
    [native('i'), record('x', 'expired'), receipt('native')],
    ['nativepush expired herald.expired_in_inbox 2000'],
  ],
  ['removed by a vendor that accepted it', [native('i')], ['nativepush sent - -']],
  [
    'moved because its gateway ended, but it had arrived',
    [native('m'), batch('s', { afterNative: true }), receipt('native')],
    ['nativepush sent - 3000', 'huawei sent - 1000'],
  ],
  [
    'the same from the inbox',
    [native('i'), record('m', 'moved'), batch('s', { afterNative: true }), receipt('native')],
    ['nativepush sent - 3000', 'huawei sent - 1000'],
  ],
  [
    'a receipt of the vendor says nothing about the native channel',
    [batch('s'), receipt('huawei')],
    ['huawei sent - 1000'],
  ],
  [
    'the inbox first, then a vendor',
    [inbox(700), batch('s', { afterNative: true })],
    ['nativepush sent - 700', 'huawei sent - 1000'],
  ],
  [
    'a vendor first, then the inbox',
    [inbox(1700), batch('m')],
    ['huawei moved - 1000', 'nativepush sent - 1700'],
  ],
]

describe('the path of a device', () => {
  it.each(cases)('%s', (_, places, path) => {
    expect(foldPath(places, { paused: false }).path.map(short)).toEqual(path)
    expect(foldPath([...places].reverse(), { paused: false }).path.map(short)).toEqual(path)
  })

  it('has the receipt of whatever channel', () => {
    expect(foldPath([batch('s'), receipt('huawei', 3500)], { paused: false })).toMatchObject({
      receivedAt: 3000,
      clickedAt: 3500,
    })
    expect(foldPath([batch('s')], { paused: false })).toMatchObject({ receivedAt: null, clickedAt: null })
  })

  it('waits for a paused task, also in the inbox', () => {
    const paused = { paused: true }
    expect(foldPath([inbox(null)], paused).path[0]!.code).toBe('herald.task_paused')
    expect(foldPath([batch('.', { state: 'released' })], paused).path[0]!.code).toBe('herald.task_paused')
  })

  it('is decided by the channel that sent, otherwise by the last one', () => {
    const step = (channel: string, fate: PathStep['fate']): PathStep => ({
      channel,
      fate,
      code: null,
      reason: null,
      at: null,
      nextAt: null,
    })
    expect(resultOf([step('a', 'sent'), step('b', 'failed')])?.channel).toBe('a')
    expect(resultOf([step('a', 'moved'), step('b', 'failed')])?.channel).toBe('b')
    expect(resultOf([step('a', 'pending'), step('b', 'failed')])?.channel).toBe('a')
    expect(resultOf([])).toBeUndefined()
  })
})

describe('why recipients wait', () => {
  const open = (change: Partial<OpenRecipients>): OpenRecipients => ({
    channel: 'huawei',
    state: 'ready',
    code: null,
    text: null,
    count: 2,
    notBefore: 5000,
    samples: [1],
    closed: null,
    silent: null,
    ...change,
  })
  const closed = { lastError: 'oauth 20002', closedAt: 1, probeAt: 9000 }
  const silent = { openedAt: 1, retryAt: 8000, text: 'ECONNREFUSED' }
  const rows: [name: string, change: Partial<OpenRecipients>, paused: boolean, result: unknown[]][] = [
    ['no attempt yet', {}, false, ['waiting', 'herald.waiting_for_turn', 5000]],
    [
      'the last attempt',
      { code: 'huawei.81000001', text: 'busy' },
      false,
      ['waiting', 'huawei.81000001', 5000],
    ],
    [
      'a closed certificate',
      { closed, notBefore: Infinity },
      false,
      ['waiting', 'herald.certificate_closed', 9000],
    ],
    ['a silent vendor', { silent, code: 'x' }, false, ['waiting', 'herald.vendor_silent', 8000]],
    ['a pause comes before all', { closed, silent, code: 'x' }, true, ['held', 'herald.task_paused', null]],
    ['held batches', { state: 'held' }, false, ['held', 'herald.task_paused', null]],
    ['the speed', { state: 'paced' }, false, ['waiting', 'herald.speed_limited', 5000]],
    ['being sent', { state: 'sending', closed }, false, ['waiting', 'herald.being_sent', null]],
    ['at no known time', { code: 'x', notBefore: Infinity }, false, ['waiting', 'x', null]],
  ]
  it.each(rows)('%s', (_, change, paused, [fate, code, nextAt]) => {
    expect(whyWaiting(open(change), { paused })).toMatchObject({ fate, reason: { code }, nextAt, count: 2 })
  })

  it('is told with the time since when the vendor takes no messages', () => {
    expect(whyWaiting(open({ closed }), { paused: false }).since).toBe(1)
    expect(whyWaiting(open({ silent }), { paused: false }).since).toBe(1)
    expect(whyWaiting(open({ code: 'x' }), { paused: false }).since).toBeNull()
  })

  it('is told once per channel and code, with the earliest time', () => {
    const group = (count: number, nextAt: number | null) => ({
      channel: 'huawei' as const,
      fate: 'waiting' as const,
      reason: ownReasons.outside_hours,
      count,
      since: null,
      nextAt,
      samples: [count],
    })
    expect(joinGroups([group(1, null), group(2, 70), group(4, 60)])).toEqual([
      { ...group(7, 60), samples: [1, 2, 4] },
    ])
  })
})
