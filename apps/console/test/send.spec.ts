import { describe, expect, it } from '@jest/globals'
import { blankDraft, type Draft, problemsOf } from '../src/pages/send/draft.ts'
import { platformPart } from '../src/pages/send/platform-fields.ts'
import { previewOf } from '../src/pages/send/preview-of.ts'
import { requestText } from '../src/pages/send/request.ts'
import { move } from '../src/pages/send/sequence.ts'

const draft = (fields: Partial<Draft>): Draft => ({ ...blankDraft, audience: ['vip'], ...fields })
const request = (fields: Partial<Draft>) => JSON.parse(requestText(draft(fields)))

describe('a request', () => {
  it('has what was filled in and nothing that was left blank', () => {
    expect(request({ title: 'Hello' })).toEqual({
      audience: { tag: ['vip'] },
      setting: { distribution_strategy: 'combined', ospush_sequence: ['ups', 'fcm'] },
      message: { type: 'text', title: 'Hello' },
    })
  })

  it('carries ext as it was typed, numbers beyond a double included', () => {
    const ext = '{"order": 12345678901234567890, "a":1.0}'
    expect(requestText(draft({ title: 'x', ext }))).toContain(`"ext":${ext}`)
    expect(request({ ext }).message).toHaveProperty('ext.a', 1)
  })

  it('reaches everyone only when everyone was chosen', () => {
    expect(request({ audienceKind: 'all', audience: [] }).audience).toBe('all')
    expect(request({ audienceKind: 'user_id', audience: ['9007199254740993'] }).audience).toEqual({
      user_id: ['9007199254740993'],
    })
  })

  it('becomes a question about one device with its push token', () => {
    const question = JSON.parse(requestText(draft({ title: 'x' }), 'token'))
    expect(question).toMatchObject({ push_token: 'token', message: { title: 'x' } })
    expect(question).not.toHaveProperty('audience')
  })

  it('turns times, speeds and the parts of platforms into what the interface takes', () => {
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

  it('leaves what is no number to the API, which names the field', () => {
    expect(request({ ttl: 'soon' }).setting.ttl).toBe('soon')
  })

  it('names no vendors when only the native channel is to be used', () => {
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
  ])('%j has the problems %j', (fields, problems) => {
    expect(problemsOf(draft(fields))).toEqual(problems)
  })

  it('begins with nobody in its audience', () => {
    expect(problemsOf(blankDraft)).toEqual(['audience'])
  })
})

describe('the preview', () => {
  it('shows long texts opened on Android, and on an iPhone only for want of another', () => {
    const both = draft({ title: 't', body: 'short', bigText: 'long' })
    expect(previewOf(both, 'iphone')).toMatchObject({ body: 'short' })
    expect(previewOf(both, 'android')).toMatchObject({ body: 'long' })
    expect(previewOf(draft({ bigText: 'long' }), 'iphone')).toMatchObject({ body: 'long' })
  })

  it('shows pictures where they would be shown', () => {
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

  it('says when nothing would be shown', () => {
    expect(previewOf(draft({ type: 'cmd', title: 't' }), 'iphone')).toEqual({ kind: 'silent' })
    expect(previewOf(draft({ title: '  ' }), 'android')).toEqual({ kind: 'blank' })
  })

  it('has the subtitle of iOS on an iPhone alone', () => {
    const both = draft({ title: 't', platforms: { ios: { subtitle: 'sub' } } })
    expect(previewOf(both, 'iphone')).toMatchObject({ subtitle: 'sub' })
    expect(previewOf(both, 'android')).toMatchObject({ subtitle: '' })
  })
})

it('a platform without a set field has no part', () => {
  expect(platformPart('oppo', { oppo: { category: ' ', notify_level: '' } })).toBeUndefined()
  expect(platformPart('oppo', { oppo: { notify_level: '16' } })).toEqual({ notify_level: 16 })
})

it('channels move one place and stay at the ends', () => {
  const list = ['a', 'b', 'c']
  expect(move(list, 0, 1)).toEqual(['b', 'a', 'c'])
  expect(move(list, 2, -1)).toEqual(['a', 'c', 'b'])
  expect(move(list, 0, -1)).toEqual(list)
  expect(move(list, 2, 1)).toEqual(list)
})
