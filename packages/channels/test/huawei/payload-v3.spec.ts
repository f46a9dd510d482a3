import { describe, expect, it } from '@jest/globals'
import { isUnsupported } from '../../src/channel.ts'
import { mapPayload } from '../../src/huawei/payload.ts'
import type { V3Body, V3Notification } from '../../src/huawei/payload-v3.ts'
import { readSettings } from '../../src/huawei/settings.ts'
import { sampleCertificate, sampleTask } from '../samples.ts'
import { makeServiceAccount } from './service-account.ts'

const account = makeServiceAccount('388421841222000001')
const settingsOf = (extra: Record<string, unknown> = {}, appSecret = '') =>
  readSettings(
    sampleCertificate('huawei', { appId: '100200300', appSecret, certificate: account.json, extra }),
  )

function v3(message: Parameters<typeof sampleTask>[0] = {}, extra: Record<string, unknown> = {}, ttl = 3600) {
  const payload = mapPayload(sampleTask(message, { ttl }), settingsOf(extra))
  if (isUnsupported(payload) || !payload.v3 || isUnsupported(payload.v3))
    throw new Error(`unsupported: ${JSON.stringify(payload)}`)
  return payload.v3
}
const written = (body: V3Body) => JSON.parse(JSON.stringify(body))

describe('huawei payload, v3', () => {
  it('writes a complete alert', () => {
    const intent = 'intent:#Intent;component=com.a/.Main;end'
    const body = v3(
      {
        type: 'image',
        attachmentUrl: 'https://img.example/a.png',
        badge: { kind: 'set', count: 0 },
        ext: '{"order":77}',
        huawei: { sound: 'shake.mp3', clickAction: 'intent', intent },
      },
      { target_user_type: 1, receipt_id: 'RCP1', classes: { service: { category: 'EXPRESS' } } },
    )
    expect(written(body)).toEqual({
      pushType: 0,
      request: {
        payload: {
          notification: {
            category: 'EXPRESS',
            title: 'Order shipped',
            body: 'Parcel 123 is on its way',
            image: 'https://img.example/a.png',
            sound: 'shake.mp3',
            badge: { setNum: 0 },
            clickAction: { actionType: 0, data: { intent, order: 77, task_id: '4503599627370497' } },
            notifyId: 2097154,
          },
        },
        pushOptions: { ttl: 3600, biTag: '4503599627370497', receiptId: 'RCP1', testMessage: true },
      },
    })
  })

  it('writes cmd as a background message', () => {
    expect(written(v3({ type: 'cmd', title: undefined, body: undefined, ext: '{"cmd":"sync"}' }))).toEqual({
      pushType: 6,
      request: {
        payload: { extraData: '{"cmd":"sync","task_id":"4503599627370497"}' },
        pushOptions: { ttl: 3600, biTag: '4503599627370497' },
      },
    })
  })

  it('sends a message without category as marketing and adds to the badge', () => {
    const { payload } = v3().request
    expect(payload).toMatchObject({ notification: { category: 'MARKETING', badge: { addNum: 1 } } })
  })

  it('keeps the digits of numbers in ext', () => {
    expect(JSON.stringify(v3({ ext: '{"id":9007199254740993}' }))).toContain('"id":9007199254740993')
  })

  it('writes ttl as a number of at most 15 days', () => {
    expect(v3({}, {}, 90 * 86_400).request.pushOptions.ttl).toBe(1_296_000)
    expect(v3({}, {}, 0).request.pushOptions.ttl).toBe(1)
  })

  it('sends the text without a picture whose address leaves no room for it', () => {
    const attachmentUrl = `https://img.example/${'x'.repeat(2000)}.png`
    const ext = JSON.stringify({ blob: 'y'.repeat(2600) })
    const { payload } = v3({ type: 'image', attachmentUrl, ext }).request
    expect(payload).toMatchObject({ notification: { body: 'Parcel 123 is on its way' } })
    expect(JSON.stringify(payload)).not.toContain('img.example')
    expect(JSON.stringify(v3({ type: 'image', attachmentUrl }).request.payload)).toContain('img.example')
  })

  it('cuts the body to 4096 bytes', () => {
    const { request } = v3({ body: '中'.repeat(4000) })
    const size = Buffer.byteLength(JSON.stringify({ ...request, target: { token: [] } }))
    expect(size).toBeLessThanOrEqual(4096)
    expect(size).toBeGreaterThan(4090)
  })

  it.each([
    ['no text', { title: undefined, body: undefined }],
    ['too large a command', { type: 'cmd', ext: JSON.stringify({ blob: 'x'.repeat(4096) }) }],
  ] as const)('cannot carry %s', (_name, message) => {
    expect(isUnsupported(mapPayload(sampleTask(message), settingsOf()))).toBe(true)
  })

  it('leaves out ext that leaves no room, and keeps the texts whole', () => {
    expect(v3({ ext: JSON.stringify({ blob: 'x'.repeat(4096) }) }).request.payload).toMatchObject({
      notification: {
        body: 'Parcel 123 is on its way',
        clickAction: { data: { task_id: '4503599627370497' } },
      },
    })
  })

  const clickOf = (message: Parameters<typeof sampleTask>[0]) =>
    (written(v3(message)).request.payload as { notification: V3Notification }).notification.clickAction
  const task_id = '4503599627370497'

  it('opens a deep link as the URI of a page, and gives the address of a web page to the app', () => {
    expect(clickOf({ url: 'shop://order/1' })).toEqual({
      actionType: 1,
      uri: 'shop://order/1',
      data: { task_id },
    })
    expect(clickOf({ url: 'https://shop.example/1' })).toEqual({
      actionType: 0,
      data: { url: 'https://shop.example/1', task_id },
    })
  })

  it('opens the page of an ability in place of every other click', () => {
    const clickPage = { ability: 'com.example.action.order', uri: 'shop://order/1' }
    expect(clickOf({ url: 'https://shop.example/1', huawei: { clickPage } })).toEqual({
      actionType: 1,
      action: 'com.example.action.order',
      uri: 'shop://order/1',
      data: { task_id },
    })
  })

  it('hides a notification while the app is in front', () => {
    expect(v3({ foreground: 'hide' }).request.payload).toMatchObject({
      notification: { foregroundShow: false },
    })
  })

  it('writes a voice broadcast as an alert of its category with the text to speak', () => {
    const body = v3({ huawei: { harmonyPushType: 2 }, ext: '{"order":77}' })
    expect(written(body)).toMatchObject({
      pushType: 2,
      request: {
        payload: {
          extraData:
            '{"title":"Order shipped","body":"Parcel 123 is on its way","order":77,"task_id":"4503599627370497"}',
          notification: { category: 'PLAY_VOICE', title: 'Order shipped' },
        },
      },
      asAlert: { pushType: 0, request: { payload: { notification: { category: 'MARKETING' } } } },
    })
    expect(body.asAlert?.request.payload).not.toHaveProperty('extraData', expect.anything())
  })

  it.each([
    [{ category: 'PLAY_VOICE' }, {}, 'MARKETING'],
    [{ category: 'PLAY_VOICE' }, { service: { category: 'EXPRESS' } }, 'EXPRESS'],
    [{}, { service: { category: 'PLAY_VOICE' } }, 'MARKETING'],
    [{ category: 'IM' }, { service: { category: 'PLAY_VOICE' } }, 'IM'],
  ])('never writes an alert of the category of voice broadcasts: %j with %j', (huawei, classes, category) => {
    const shown = { notification: { category } }
    expect(v3({ huawei }, { classes }).request.payload).toMatchObject(shown)
    const broadcast = v3({ huawei: { ...huawei, harmonyPushType: 2 } }, { classes })
    expect(broadcast.request.payload).toMatchObject({ notification: { category: 'PLAY_VOICE' } })
    expect(broadcast.asAlert?.request.payload).toMatchObject(shown)
  })

  it('cuts the text of a voice broadcast in both places', () => {
    const { request } = v3({ huawei: { harmonyPushType: 2 }, body: '中'.repeat(2000) })
    const size = Buffer.byteLength(JSON.stringify({ ...request, target: { token: [] } }))
    expect(size).toBeLessThanOrEqual(4096)
    expect(size).toBeGreaterThan(4080)
  })

  it.each([
    [3600, 60],
    [45, 45],
    [0, 30],
  ])('writes a call whose message lives for %i s with a ttl of %i s', (ttl, expected) => {
    const body = v3({ huawei: { harmonyPushType: 10 }, ext: '{"room":"9"}' }, {}, ttl)
    expect(written(body)).toMatchObject({
      pushType: 10,
      request: {
        payload: { extraData: expect.stringContaining('"room":"9"') },
        pushOptions: { ttl: expected },
      },
      asAlert: { pushType: 0 },
    })
  })

  it('writes a call of a command without an alert, and a text as a background message if asked', () => {
    expect(v3({ type: 'cmd', huawei: { harmonyPushType: 10 } }).asAlert).toBeUndefined()
    expect(v3({ huawei: { harmonyPushType: 6 } })).toMatchObject({ pushType: 6 })
  })

  it.each([
    ['a card', { huawei: { harmonyPushType: 1 } }, /\(card\)/],
    ['a live view', { huawei: { harmonyPushType: 7 } }, /\(live view\)/],
    ['an alert of a command', { type: 'cmd', huawei: { harmonyPushType: 0 } }, /type cmd/],
    ['a voice broadcast of a command', { type: 'cmd', huawei: { harmonyPushType: 2 } }, /type cmd/],
  ] as const)('cannot send %s to HarmonyOS, and sends Android as ever', (_name, message, sentence) => {
    const payload = mapPayload(sampleTask(message), settingsOf())
    expect(payload).toMatchObject({ v3: { unsupported: expect.stringMatching(sentence) } })
    expect(payload).toMatchObject({ v2: { message: expect.anything() } })
  })

  it('maps both versions with a service account, which has access to both', () => {
    for (const secret of ['s3cr3t', ''])
      expect(Object.keys(mapPayload(sampleTask(), settingsOf({}, secret)))).toEqual(['v2', 'v3'])
  })
})
