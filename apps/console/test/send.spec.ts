import { HeraldError } from '@herald/client'
import { describe, expect, it } from '@jest/globals'
import { requestIdFor } from '../src/api/request-id.ts'
import { isTypedNumber, secondsAtSpeed } from '../src/calculations/audience-size.ts'
import { curlOf } from '../src/calculations/curl.ts'
import { complaintIn, splitComplaint } from '../src/i18n/complaints.ts'
import { addPasted, splitTyped, splitValues } from '../src/pages/send/audience-list.ts'
import { blankDraft, type Draft, isUntouched, readDraft } from '../src/pages/send/draft.ts'
import { draftOfRequest } from '../src/pages/send/draft-of-request.ts'
import { fieldOfPath, sectionOf } from '../src/pages/send/fields.ts'
import { platformPart, platforms } from '../src/pages/send/platform-fields.ts'
import { previewOf } from '../src/pages/send/preview-of.ts'
import { problemsOf } from '../src/pages/send/problems.ts'
import { isInDoubt, refusalOf } from '../src/pages/send/refusal.ts'
import { countText, requestText } from '../src/pages/send/request.ts'
import { move } from '../src/pages/send/sequence.ts'
import { cutsOf, lengthOf } from '../src/pages/send/text-limits.ts'

const lists = (given: Partial<Draft['audience']>) => ({ ...blankDraft.audience, ...given })
const draft = (fields: Partial<Draft>): Draft => ({
  ...blankDraft,
  audience: lists({ tag: ['vip'] }),
  ...fields,
})
const request = (fields: Partial<Draft>) => JSON.parse(requestText(draft(fields)))
/** Local time, as the form has it. */
const NOW = new Date('2030-01-01T12:00').getTime()

describe('a request', () => {
  it('contains the filled fields only', () => {
    expect(request({ title: 'Hello' })).toEqual({
      audience: { tag: ['vip'] },
      setting: { ospush_sequence: ['ups', 'fcm'] },
      message: { type: 'text', title: 'Hello' },
    })
  })

  it('contains ext as it was typed, large numbers included', () => {
    const ext = '{"order": 12345678901234567890, "a":1.0}'
    expect(requestText(draft({ title: 'x', ext }))).toContain(`"ext":${ext}`)
    expect(request({ ext }).message).toHaveProperty('ext.a', 1)
  })

  it('has the audience all only if it was selected', () => {
    expect(request({ audienceKind: 'all' }).audience).toBe('all')
    const audience = lists({ tag: ['vip'], user_id: ['9007199254740993'] })
    expect(request({ audienceKind: 'user_id', audience }).audience).toEqual({
      user_id: ['9007199254740993'],
    })
  })

  it('has a request id of its own, unless the author gave one', () => {
    const idOf = (fields: Partial<Draft>) =>
      JSON.parse(requestText(draft(fields), { kind: 'draft', requestId: 'made' })).setting.request_id
    expect(idOf({})).toBe('made')
    expect(idOf({ requestId: ' order-1 ' })).toBe('order-1')
  })

  it('of a test goes to the given devices only, now and outside the campaign', () => {
    const scheduled = draft({
      title: 'x',
      audienceKind: 'all',
      beginAt: '2030-01-02T03:04',
      endAt: '2030-01-03T03:04',
      speed: '5',
      campaign: 'spring',
      events: true,
      requestId: 'order-1',
      ttl: '60',
    })
    expect(
      JSON.parse(requestText(scheduled, { kind: 'test', pushTokens: ['t'], requestId: 'made' })),
    ).toEqual({
      audience: { push_token: ['t'] },
      setting: { ospush_sequence: ['ups', 'fcm'], ttl: 60, request_id: 'made' },
      message: { type: 'text', title: 'x' },
    })
  })

  it('for a count has the audience and the route, not the unfinished message', () => {
    expect(JSON.parse(countText(draft({ ttl: 'x', strategy: 'ospush_only' })))).toEqual({
      audience: { tag: ['vip'] },
      setting: { distribution_strategy: 'ospush_only', ospush_sequence: ['ups', 'fcm'] },
    })
    expect(JSON.parse(countText(draft({ type: 'cmd' }))).message).toEqual({ type: 'cmd' })
  })

  it('is a request for explain if a push token is given', () => {
    const body = JSON.parse(requestText(draft({ title: 'x' }), { kind: 'device', pushToken: 'token' }))
    expect(body).toMatchObject({ push_token: 'token', message: { title: 'x' } })
    expect(body).not.toHaveProperty('audience')
  })

  it('converts times, numbers and platform settings to the types of the API', () => {
    const { setting, message } = request({
      beginAt: '2030-01-02T03:04',
      ttl: ' 60 ',
      speed: '100',
      sound: 'bell',
      platforms: {
        ios: { content_available: 'true', subtitle: 'sub' },
        vivo: { classification: '1', category: ' IM ' },
        huawei: { sound: '' },
      },
    })
    expect(setting).toMatchObject({ ttl: 60, speed: 100 })
    expect(message.show_begin_time).toBe(new Date('2030-01-02T03:04').getTime() / 1000)
    expect(message.ios).toEqual({ sound: 'bell', content_available: true, subtitle: 'sub' })
    expect(message.android).toEqual({ sound: 'bell' })
    expect(message.vivo).toEqual({ classification: 1, category: 'IM' })
    expect(message).not.toHaveProperty('huawei')
  })

  it('sends a text that is not a number as it is, so that the API names the field', () => {
    expect(request({ campaign: ' spring ', events: true }).setting).toMatchObject({
      campaign: 'spring',
      events: true,
    })
    expect(request({ ttl: 'soon' }).setting.ttl).toBe('soon')
  })

  it('has no channel order for the native channel alone', () => {
    expect(request({ strategy: 'nativepush_only' }).setting).toEqual({
      distribution_strategy: 'nativepush_only',
    })
  })
})

describe('the request id of a draft', () => {
  it('stays until the request changes, so that a repeated press sends nothing twice', () => {
    let made = 0
    const create = () => `id-${++made}`
    const first = requestIdFor(undefined, 'text', create)
    expect(requestIdFor(first, 'text', create)).toBe(first)
    expect(requestIdFor(first, 'other text', create)).toEqual({ id: 'id-2', text: 'other text' })
  })
})

describe('a draft', () => {
  const problems = (fields: Partial<Draft>) =>
    problemsOf(draft({ title: 'x', ...fields }), NOW).map(({ field, kind }) => `${field} ${kind}`)

  it.each<[Partial<Draft>, string[]]>([
    [{}, []],
    [{ audience: lists({}) }, ['audience audienceMissing']],
    [{ audience: lists({}), audienceKind: 'all' }, []],
    [{ audience: lists({ tag: Array.from({ length: 501 }, String) }) }, ['audience audienceTooLong']],
    [{ audienceKind: 'user_id', audience: lists({ user_id: ['1', 'ann'] }) }, ['audience audienceNumber']],
    [{ audienceKind: 'user_id', audience: lists({ user_id: ['9223372036854775807'] }) }, []],
    [
      { audienceKind: 'user_id', audience: lists({ user_id: ['9223372036854775808'] }) },
      ['audience audienceNumber'],
    ],
    [{ title: ' ' }, ['title messageBlank']],
    [{ title: '', type: 'cmd' }, []],
    [{ title: '', platforms: { ios: { subtitle: 's' } } }, []],
    [{ ext: '[1]' }, ['ext json']],
    [{ ext: '{"a":' }, ['ext json']],
    [{ ext: '{"a":1}' }, []],
    [{ ttl: 'soon', speed: '0' }, ['speed notInteger', 'ttl notInteger']],
    [{ ttl: '0', speed: '1000000' }, []],
    [{ speed: '1.5' }, ['speed notInteger']],
    [{ type: 'image' }, ['attachmentUrl pictureMissing']],
    [{ type: 'image', attachmentUrl: 'https://example.com/a.gif' }, ['attachmentUrl pictureType']],
    [{ attachmentUrl: 'example.com/a.png' }, ['attachmentUrl address']],
    [{ url: 'nowhere' }, ['url link']],
    [{ url: 'myapp://page' }, []],
    [{ url: 'https://example.com' }, []],
    [{ url: 'HTTP://example.com' }, ['url link']],
    [{ badge: 'five' }, ['badge badge']],
    [{ collapseKey: '键'.repeat(22) }, ['collapseKey tooManyBytes']],
    [{ beginAt: '2030-01-01T11:58' }, ['beginAt beginPast']],
    [{ beginAt: '2030-01-01T12:00' }, []],
    [{ beginAt: '2030-01-02T00:00', endAt: '2030-01-01T13:00' }, ['endAt endBeforeBegin']],
    [{ endAt: '2030-01-01T11:00' }, ['endAt endPast']],
    [
      { platforms: { oppo: { private_title_parameters: '{' } } },
      ['platforms.oppo.private_title_parameters json'],
    ],
    [{ platforms: { ios: { 'critical.volume': '2' } } }, ['platforms.ios.critical.volume notNumber']],
    [
      { title: '', ttl: 'x', audience: lists({}) },
      ['title messageBlank', 'audience audienceMissing', 'ttl notInteger'],
    ],
  ])('%j has the problems %j', (fields, expected) => {
    expect(problems(fields)).toEqual(expected)
  })

  it('has an empty audience at first', () => {
    expect(problemsOf(blankDraft, NOW).map(({ field }) => field)).toEqual(['title', 'audience'])
  })

  it('is stored as JSON and read again; what another release stored is completed or dropped', () => {
    const stored = draft({ title: 'x', platforms: { ios: { subtitle: 's' } } })
    expect(readDraft(JSON.parse(JSON.stringify(stored)))).toEqual(stored)
    expect(readDraft({ title: 'old' })).toEqual({ ...blankDraft, title: 'old' })
    for (const wrong of [null, 'x', [], { title: 1 }, { audience: { tag: [1] } }, { audience: ['a'] }])
      expect(readDraft(wrong)).toBeUndefined()
    expect([isUntouched(blankDraft), isUntouched(stored)]).toEqual([true, false])
  })
})

describe('a pasted list', () => {
  it('is split at line breaks, tabs, commas and semicolons', () => {
    expect(splitValues('10001\r\n10002\n\n10003\tten four;10005, 10006\n')).toEqual([
      '10001',
      '10002',
      '10003',
      'ten four',
      '10005',
      '10006',
    ])
    expect(splitValues('甲，乙；丙, 丁')).toEqual(['甲', '乙', '丙', '丁'])
  })

  it('is taken whole or not at all', () => {
    const numbers = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, index) => String(from + index))
    expect(addPasted(['a'], 'b\na\nc')).toEqual({ list: ['a', 'b', 'c'] })
    expect(addPasted([], numbers(0, 500).join('\n'))).toEqual({ list: numbers(0, 500) })
    expect(addPasted([], numbers(0, 600).join('\n'))).toEqual({ refused: { given: 600, total: 600 } })
    expect(addPasted(['a'], numbers(0, 500).join(','))).toEqual({ refused: { given: 500, total: 501 } })
  })
})

it('a typed list is split; values of the list and a chosen suggestion stay whole', () => {
  const tag = 'city:Shenzhen, Nanshan'
  expect(splitTyped(['vip', tag], ['vip', tag])).toEqual(['vip', tag])
  // Typed after it, removed before it.
  expect(splitTyped([tag, 'a, b;tag'], [tag, undefined])).toEqual([tag, 'a', 'b', 'tag'])
  expect(splitTyped([tag], ['vip', tag])).toEqual([tag])
  // The same text, typed.
  expect(splitTyped(['vip', tag], ['vip', undefined])).toEqual(['vip', 'city:Shenzhen', 'Nanshan'])
  expect(splitTyped(['vip', 'a,vip'], ['vip'])).toEqual(['vip', 'a'])
})

describe('a refusal of the API', () => {
  const refusal = (message: string, fields: Partial<Draft> = {}) =>
    refusalOf(new HeraldError(40002, 400, message), draft(fields))

  it.each([
    ['message.show_end_time must be after show_begin_time.', 'endAt', 'must be after show_begin_time'],
    ['setting.speed must be at least 1.', 'speed', 'must be at least 1'],
    ['message must not be blank.', 'title', 'must not be blank'],
    ['audience.user_id[3] must be a 64-bit integer.', 'audience', 'must be a 64-bit integer'],
    ['message.click_action cannot be set if type is cmd.', 'url', 'cannot be set if type is cmd'],
    ['message.ios.subtitle must be a string.', 'platforms.ios.subtitle', 'must be a string'],
    ['message.ios.loc_args[2] must be a string.', 'platforms.ios.loc_args', 'must be a string'],
    ['message.ios.live_activity.event is required.', 'platforms.ios.live_activity.event', 'is required'],
  ])('%s belongs to %s', (message, field, complaint) => {
    expect(refusal(message)).toEqual({ field, complaint })
  })

  it('about the sound is one about the field that it was typed in', () => {
    const message = 'message.ios.sound must have at most 1024 characters.'
    expect(refusal(message)?.field).toBe('sound')
    expect(refusal(message, { platforms: { ios: { sound: 'x' } } })?.field).toBe('platforms.ios.sound')
  })

  it('without a field of the form is shown as it is', () => {
    expect(refusal('The body must be a JSON object.')).toBeUndefined()
    expect(refusalOf(new HeraldError(42901, 429, 'message is too frequent.'), blankDraft)).toBeUndefined()
  })

  it('can be found for every field of the vendors', () => {
    for (const { name, fields } of platforms)
      for (const field of fields) {
        const found = fieldOfPath(
          `message.${name}.${field.name}`,
          draft({ platforms: { [name]: { sound: 'x' } } }),
        )
        expect(found).toBe(`platforms.${name}.${field.name}`)
        expect(sectionOf(found!)).toEqual({ section: 'platforms', platform: name })
      }
  })

  it('is translated; an unknown complaint stays English', () => {
    expect(splitComplaint('setting.ttl must be at most 5.')).toEqual({
      path: 'setting.ttl',
      complaint: 'must be at most 5',
    })
    expect(complaintIn('zh', 'must be at most 5')).toBe('不能大于 5')
    expect(complaintIn('zh', 'must be an integer from 1 to 1000000')).toBe('应为 1 到 1000000 之间的整数')
    expect(complaintIn('zh', 'must be an https:// address or a deep link of the app, not http:')).toBe(
      '应为 https:// 网址或应用的深层链接，不能是 http:',
    )
    expect(complaintIn('zh', 'is of a new kind')).toBe('is of a new kind')
    expect(complaintIn('en', 'must be at most 5')).toBe('must be at most 5')
  })

  it('leaves no doubt; a lost answer does', () => {
    const doubtful = (code: number, status: number) => isInDoubt(new HeraldError(code, status, ''))
    expect([doubtful(0, 0), doubtful(0, 502), doubtful(50001, 500)]).toEqual([true, true, true])
    expect(doubtful(50201, 502)).toBe(true)
    expect([doubtful(40002, 400), doubtful(50301, 503), doubtful(42901, 429)]).toEqual([false, false, false])
    expect(isInDoubt(new Error('x'))).toBe(false)
  })
})

describe('a task that is sent again', () => {
  it('fills the form with everything that the form has sent', () => {
    const sent = draft({
      type: 'image',
      title: 'x',
      body: 'y',
      bigText: 'z',
      attachmentUrl: 'https://example.com/a.png',
      badge: '+2',
      url: 'https://example.com/a',
      collapseKey: 'k',
      foreground: 'hide',
      urgent: true,
      ext: JSON.stringify({ order: 1 }, null, 2),
      strategy: 'ospush_only',
      sequence: ['fcm', 'huawei'],
      beginAt: '2030-01-02T03:04',
      endAt: '2030-01-03T03:04',
      ttl: '60',
      speed: '5',
      priority: 'normal',
      messageClass: 'service',
      campaign: 'spring',
      events: true,
      platforms: {
        ios: { subtitle: 's', loc_args: 'one\ntwo', 'live_activity.event': 'update' },
        vivo: { classification: '1' },
        oppo: { private_title_parameters: '{"a":1}' },
      },
    })
    expect(draftOfRequest(requestText(sent), NOW)).toEqual({ draft: sent, leftOut: [] })
  })

  it('keeps the digits of large numbers', () => {
    const text =
      '{"audience":{"user_id":[9007199254740993]},"message":{"title":"x","ext":{"order":12345678901234567890}}}'
    const { draft: filled } = draftOfRequest(text, NOW)
    expect(filled.audience.user_id).toEqual(['9007199254740993'])
    expect(requestText(filled)).toContain('12345678901234567890')
    expect(JSON.parse(requestText(filled)).audience).toEqual({ user_id: ['9007199254740993'] })
  })

  it('leaves out the request id, times that are over and what the form does not have, and names them', () => {
    const text = JSON.stringify({
      audience: 'all',
      setting: { request_id: 'used', priority: 'high', new_setting: 1 },
      message: {
        title: 'x',
        click_action: 'intent',
        show_begin_time: NOW / 1000 - 60,
        ios: { subtitle: 's', new_field: 1 },
      },
    })
    const { draft: filled, leftOut } = draftOfRequest(text, NOW)
    expect(filled).toEqual({
      ...blankDraft,
      audienceKind: 'all',
      priority: 'high',
      title: 'x',
      platforms: { ios: { subtitle: 's' } },
    })
    expect(leftOut).toEqual([
      'setting.new_setting',
      'message.click_action',
      'message.show_begin_time',
      'message.ios.new_field',
    ])
  })
})

it('a typed number may have separators, but must be the number', () => {
  for (const typed of ['20013', '20,013', ' 20 013 ', '20.013'])
    expect(isTypedNumber(typed, 20_013)).toBe(true)
  for (const typed of ['', '2001', '20013x', '-20013']) expect(isTypedNumber(typed, 20_013)).toBe(false)
})

it('the duration follows from the speed', () => {
  expect(secondsAtSpeed(20_013, '400')).toBe(51)
  expect(secondsAtSpeed(20_013, ' ')).toBeUndefined()
  expect(secondsAtSpeed(20_013, '0')).toBeUndefined()
})

it('a command for the shell quotes the body', () => {
  expect(curlOf('https://push.example.com', 'shop', '/push/notify', `{"title":"it's"}`)).toBe(
    [
      "curl -X POST 'https://push.example.com/push/notify' \\",
      "  -H 'app_id: shop' \\",
      '  -H "access-token: $TOKEN" \\',
      "  -H 'content-type: application/json' \\",
      `  --data-binary '{"title":"it'\\''s"}'`,
    ].join('\n'),
  )
})

it('a command for the shell concerns the group of the task', () => {
  expect(curlOf('https://push.example.com', 'shop', '/push/notify', '{}', '7')).toBe(
    [
      "curl -X POST 'https://push.example.com/push/notify' \\",
      "  -H 'app_id: shop' \\",
      "  -H 'group_id: 7' \\",
      '  -H "access-token: $TOKEN" \\',
      "  -H 'content-type: application/json' \\",
      "  --data-binary '{}'",
    ].join('\n'),
  )
})

describe('the length of a text', () => {
  it('names the vendors that cut it, the shortest limit first', () => {
    expect(cutsOf('x'.repeat(45), 'title')).toEqual([
      { vendor: 'meizu', max: 32 },
      { vendor: 'vivo', max: 40 },
    ])
    expect(cutsOf('x'.repeat(32), 'title')).toEqual([])
    expect(cutsOf('x'.repeat(101), 'body').map(({ vendor }) => vendor)).toEqual(['meizu', 'vivo'])
  })

  it('counts an emoji as one', () => {
    expect(lengthOf('a👍🏽b')).toBe(3)
  })
})

describe('the preview', () => {
  it('shows long texts on Android, and on an iPhone only without a text', () => {
    const both = draft({ title: 't', body: 'short', bigText: 'long' })
    expect(previewOf(both, 'iphone')).toMatchObject({ body: 'short' })
    expect(previewOf(both, 'android')).toMatchObject({ body: 'long' })
    expect(previewOf(draft({ bigText: 'long' }), 'iphone')).toMatchObject({ body: 'long' })
  })

  it('shows pictures where the platform shows them', () => {
    const attachmentUrl = 'https://example.com/a.png'
    expect(previewOf(draft({ title: 't', attachmentUrl }), 'android')).toMatchObject({ image: '' })
    expect(previewOf(draft({ type: 'image', attachmentUrl }), 'android')).toMatchObject({
      image: attachmentUrl,
    })
    expect(previewOf(draft({ title: 't', attachmentUrl }), 'iphone')).toMatchObject({ image: attachmentUrl })
    expect(
      previewOf(draft({ title: 't', attachmentUrl: 'https://example.com/a.mp3' }), 'iphone'),
    ).toMatchObject({ image: '' })
  })

  it('shows what a vendor cuts', () => {
    const long = draft({ title: 'x'.repeat(60), body: 'y'.repeat(110), bigText: 'z'.repeat(200) })
    expect(previewOf(long, 'oppo')).toMatchObject({
      title: `${'x'.repeat(49)}…`,
      body: `${'z'.repeat(127)}…`,
      cut: ['title', 'body'],
    })
    // vivo has no long text.
    expect(previewOf(long, 'vivo')).toMatchObject({ body: `${'y'.repeat(99)}…`, cut: ['title', 'body'] })
    expect(previewOf(long, 'fcm')).toMatchObject({ title: 'x'.repeat(60), cut: [] })
    expect(previewOf(long, 'android')).toMatchObject({ body: 'z'.repeat(200), cut: [] })
  })

  it('has no card for pass-through and blank messages', () => {
    expect(previewOf(draft({ type: 'cmd', title: 't' }), 'iphone')).toEqual({ kind: 'silent' })
    expect(previewOf(draft({ title: '  ' }), 'android')).toEqual({ kind: 'blank' })
  })

  it('shows the subtitle on an iPhone only', () => {
    const both = draft({ title: 't', platforms: { ios: { subtitle: 'sub' } } })
    expect(previewOf(both, 'iphone')).toMatchObject({ subtitle: 'sub' })
    expect(previewOf(both, 'android')).toMatchObject({ subtitle: '' })
  })
})

it('a platform without a set field has no part', () => {
  expect(platformPart('oppo', { oppo: { category: ' ', notify_level: '' } })).toBeUndefined()
  expect(platformPart('oppo', { oppo: { notify_level: '16' } })).toEqual({ notify_level: 16 })
  expect(
    platformPart('ios', {
      ios: {
        relevance_score: '0.5',
        loc_args: 'one\n\ntwo ',
        'critical.volume': '1',
        'live_activity.event': 'update',
        'live_activity.content_state': '{"a":1}',
        'live_activity.alert.title': 'Goal',
        'live_activity.timestamp': 'soon',
      },
    }),
  ).toEqual({
    relevance_score: 0.5,
    loc_args: ['one', 'two'],
    critical: { volume: 1 },
    live_activity: {
      event: 'update',
      content_state: '{"a":1}',
      alert: { title: 'Goal' },
      timestamp: 'soon',
    },
  })
})

it('channels move by one place and stay at the ends', () => {
  const list = ['a', 'b', 'c']
  expect(move(list, 0, 1)).toEqual(['b', 'a', 'c'])
  expect(move(list, 2, -1)).toEqual(['a', 'c', 'b'])
  expect(move(list, 0, -1)).toEqual(list)
  expect(move(list, 2, 1)).toEqual(list)
})

describe('the fields that say more', () => {
  const more = {
    title: 'x',
    url: ' https://example.com/a ',
    collapseKey: 'k',
    foreground: 'hide',
    urgent: true,
  } as const

  it('are sent with the names of the API', () => {
    expect(request(more).message).toEqual({
      type: 'text',
      title: 'x',
      click_action: 'url',
      url: 'https://example.com/a',
      collapse_key: 'k',
      foreground: 'hide',
      urgent: true,
    })
    expect(request({ title: 'x' }).message).toEqual({ type: 'text', title: 'x' })
  })

  it('are in the preview; iOS has a replace key of its own', () => {
    const platforms = { ios: { apns_collapse_id: 'own' } }
    const shown = { url: 'https://example.com/a', urgent: true, hidden: true }
    expect(previewOf(draft({ ...more, platforms }), 'iphone')).toMatchObject({ ...shown, collapseKey: 'own' })
    expect(previewOf(draft({ ...more, platforms }), 'android')).toMatchObject({ ...shown, collapseKey: 'k' })
  })

  it('show a Live Activity instead of a notification on an iPhone', () => {
    const platforms = {
      ios: { 'live_activity.event': 'update', 'live_activity.content_state': '{"score":2}' },
    }
    expect(previewOf(draft({ title: 'x', platforms }), 'iphone')).toEqual({
      kind: 'activity',
      event: 'update',
      fields: '{"score":2}',
    })
    expect(previewOf(draft({ title: 'x', platforms }), 'android')).toMatchObject({ kind: 'card' })
  })
})
