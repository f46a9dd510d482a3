import { sampleMessage } from '@herald/testkit/sample-message'
import { describe, expect, it } from '@jest/globals'
import { androidView, type Message, replaceFields, withReplaceKeysOf } from '../src/index.ts'

const intent = 'intent:#Intent;component=com.a/com.a.Main;end'
const shop = 'https://shop.example.com'
const opensApp = { kind: 'open_app' }

describe('the click action of a channel', () => {
  const cases: [name: string, message: Partial<Message>, click: object][] = [
    ['opens the app by default', {}, opensApp],
    ['is that of the message', { url: shop }, { kind: 'url', url: shop }],
    [
      'is that of android before that of the message',
      { url: shop, android: { clickAction: 'open_app' } },
      opensApp,
    ],
    [
      'is that of the vendor before that of android',
      {
        url: shop,
        android: { clickAction: 'intent', intent },
        huawei: { clickAction: 'url', url: 'myapp://7' },
      },
      { kind: 'url', url: 'myapp://7' },
    ],
    [
      'is never mixed from two objects',
      { android: { clickAction: 'url', url: shop }, huawei: { intent } },
      opensApp,
    ],
    ['is an intent of android', { android: { clickAction: 'intent', intent } }, { kind: 'intent', intent }],
  ]
  it.each(cases)('%s', (_, message, click) => {
    expect(androidView(sampleMessage(message), 'huawei').click).toEqual(click)
  })
})

describe('the replace keys of another message', () => {
  it('take the place of its own, also those of vendors’ objects', () => {
    const first = sampleMessage({ collapseKey: 'a', ios: { apnsCollapseId: 'b' } })
    const own = sampleMessage({ title: 'New', ios: { apnsCollapseId: 'c', sound: 's' } })
    expect(withReplaceKeysOf(first, own)).toEqual({
      ...own,
      collapseKey: 'a',
      ios: { apnsCollapseId: 'b', sound: 's' },
    })
    const bare = withReplaceKeysOf(sampleMessage(), { ...own, collapseKey: 'd' })
    expect([bare.collapseKey, bare.ios.apnsCollapseId]).toEqual([undefined, undefined])
    expect(replaceFields).toContainEqual(['ios', 'apns_collapse_id'])
  })
})
