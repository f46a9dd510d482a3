import { describe, expect, it } from '@jest/globals'
import { blankDraft, type Draft, invalidFields } from '../src/pages/send/draft.ts'
import { platformPart } from '../src/pages/send/platform-fields.ts'
import { previewOf } from '../src/pages/send/preview-of.ts'
import { requestText } from '../src/pages/send/request.ts'
import { move } from '../src/pages/send/sequence.ts'

const draft = (fields: Partial<Draft>): Draft => ({ ...blankDraft, audience: ['vip'], ...fields })
const request = (fields: Partial<Draft>) => JSON.parse(requestText(draft(fields)))

describe('a request', () => {
  it('contains the filled fields only', () => {
    expect(request({ title: 'Hello' })).toEqual({
      audience: { tag: ['vip'] },
      setting: { distribution_strategy: 'combined', ospush_sequence: ['ups', 'fcm'] },
      message: { type: 'text', title: 'Hello' },
    })
  })

  it('contains ext as it was typed, large numbers included', () => {
    const ext = '{"order": 12345678901234567890, "a":1.0}'
    expect(requestText(draft({ title: 'x', ext }))).toContain(`"ext":${ext}`)
    expect(request({ ext }).message).toHaveProperty('ext.a', 1)
  })

  it('has the audience all only if it was selected', () => {
    expect(request({ audienceKind: 'all', audience: [] }).audience).toBe('all')
    expect(request({ audienceKind: 'user_id', audience: ['9007199254740993'] }).audience).toEqual({
      user_id: ['9007199254740993'],
    })
  })

  it('is a request for explain if a push token is given', () => {
    const body = JSON.parse(requestText(draft({ title: 'x' }), 'token'))
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

describe('a draft', () => {
  it.each([
    [{ audience: [] }, ['audience']],
    [{ audience: [], audienceKind: 'all' as const }, []],
    [{ ext: '[1]' }, ['ext']],
    [{ ext: '{"a":' }, ['ext']],
    [{ ext: '{"a":1}' }, []],
  ])('%j has the invalid fields %j', (fields, invalid) => {
    expect(invalidFields(draft(fields))).toEqual(invalid)
  })

  it('has an empty audience at first', () => {
    expect(invalidFields(blankDraft)).toEqual(['audience'])
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
