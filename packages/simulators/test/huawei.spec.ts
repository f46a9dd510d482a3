import { createHmac, generateKeyPairSync } from 'node:crypto'
import { type ReceivedPost, startReceiver } from '@herald/testkit/receiver'
import { afterEach, describe, expect, it } from '@jest/globals'
import jwt from 'jsonwebtoken'
import { type HuaweiSimulatorOptions, startHuaweiSimulator } from '../src/huawei/simulator.ts'

const newKeys = () =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
const { privateKey, publicKey } = newKeys()
const account = { keyId: 'key-1', subAccount: '110005' }
const app = {
  clientId: '100200300',
  clientSecret: 's3cr3t',
  projectId: '388421841222000001',
  serviceAccount: { ...account, publicKey },
}
const other = { clientId: '999', clientSecret: 'other', projectId: '777' }

const toClose: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(toClose.splice(0).map((close) => close()))
})

async function start(options: HuaweiSimulatorOptions = {}) {
  const simulator = await startHuaweiSimulator({ credentials: [app, other], ...options })
  toClose.push(simulator.close)
  const form = (fields: Record<string, string>) =>
    fetch(`${simulator.url}/oauth2/v3/token`, { method: 'POST', body: new URLSearchParams(fields) })
  const login = async (clientId = app.clientId, clientSecret = app.clientSecret) => {
    const reply = await form({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    })
    return ((await reply.json()) as { access_token: string }).access_token
  }
  const post = async (bearer: string, body: unknown, path = '/v1/100200300/messages:send', headers = {}) => {
    const reply = await fetch(simulator.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${bearer}`,
        'content-type': 'application/json;charset=UTF-8',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await reply.text()
    return { status: reply.status, ...(text && JSON.parse(text)) } as {
      status: number
      code?: string
      msg?: string
    }
  }
  return { simulator, form, login, post }
}

const click_action = { type: 3 }
const shown = { title: 'Parcel', body: 'Arrives today', click_action }
const message = (over: object = {}) => ({
  validate_only: false,
  message: { android: { ttl: '3600s', bi_tag: '7001', notification: shown }, token: ['IQAAAACy0A'], ...over },
})
const notice = (over: object) => message({ android: { notification: { ...shown, ...over } } })
const android = (over: object) => message({ android: { notification: shown, ...over } })

describe('huawei simulator: token endpoint', () => {
  const good = { grant_type: 'client_credentials', client_id: app.clientId, client_secret: app.clientSecret }

  it('issues a token with its lifetime, slashes escaped', async () => {
    const { form } = await start({ expiresIn: 77 })
    const replies = await Promise.all(Array.from({ length: 20 }, () => form(good)))
    const texts = await Promise.all(replies.map((reply) => reply.text()))
    expect(JSON.parse(texts[0]!)).toMatchObject({ expires_in: 77, token_type: 'Bearer' })
    expect(texts.join()).toContain('\\/')
  })

  it.each([
    ['client_id malformed', { ...good, client_id: 'abc' }, 20002],
    ['client_id unknown', { ...good, client_id: '1' }, 20002],
    ['client_secret wrong', { ...good, client_secret: 'x' }, 12304],
    ['client_secret missing', { ...good, client_secret: '' }, 20171],
    ['grant_type wrong', { ...good, grant_type: 'password' }, 20182],
  ])('refuses with 1101: %s', async (_name, fields, sub_error) => {
    const { form } = await start()
    const reply = await form(fields)
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({ error: 1101, sub_error })
  })

  it('requires a form and POST', async () => {
    const { simulator } = await start()
    const url = `${simulator.url}/oauth2/v3/token`
    expect((await fetch(url, { method: 'POST', body: JSON.stringify(good) })).status).toBe(400)
    expect((await fetch(url)).status).toBe(405)
  })

  it('replies 503 after 1000 tokens in five minutes, and then accepts again', async () => {
    let now = 1_760_000_000_000
    const { form } = await start({ now: () => now })
    for (let i = 0; i < 1000; i += 50)
      await Promise.all(Array.from({ length: 50 }, async () => expect((await form(good)).status).toBe(200)))
    expect((await form(good)).status).toBe(503)
    now += 300_000
    expect((await form(good)).status).toBe(200)
  })

  it('accepts any credentials with acceptAnyCredentials', async () => {
    const { login, post } = await start({ credentials: [], acceptAnyCredentials: true })
    expect(await post(await login('5', 'anything'), message(), '/v1/5/messages:send')).toMatchObject({
      code: '80000000',
    })
  })
})

describe('huawei simulator: access tokens', () => {
  it('refuses unknown tokens and those of another app', async () => {
    const { login, post } = await start()
    for (const bearer of ['', 'nonsense', await login(other.clientId, other.clientSecret)])
      expect(await post(bearer, message())).toMatchObject({ status: 401, code: '80200001' })
  })

  it('refuses an expired token', async () => {
    let now = 1_760_000_000_000
    const { login, post } = await start({ expiresIn: 60, now: () => now })
    const token = await login()
    now += 60_000
    expect(await post(token, message())).toMatchObject({ status: 401, code: '80200003' })
  })

  it('has no other path', async () => {
    const { login, post } = await start()
    expect(await post(await login(), message(), '/v1/100200300/send')).toMatchObject({ status: 404 })
    expect(await post(await login(), message(), '/v4/100200300/messages:send')).toMatchObject({ status: 404 })
  })
})

describe('huawei simulator: rules of the body', () => {
  const refusals: [string, unknown, string][] = [
    ['JSON that is not valid', '{', '80100003'],
    ['no message', {}, '80100003'],
    ['two targets', message({ topic: 'news' }), '80100001'],
    ['no token', message({ token: [] }), '80300010'],
    ['no target', message({ token: undefined }), '80300010'],
    ['1001 tokens', message({ token: Array.from({ length: 1001 }, (_, i) => `t${i}`) }), '80300010'],
    ['a body of more than 4096 bytes', message({ data: 'x'.repeat(4096) }), '80300008'],
    ['data that is not a string', message({ data: { a: 1 } }), '80100001'],
    ['nothing to deliver', message({ android: {} }), '80100001'],
    ['a ttl that is a number', android({ ttl: 3600 }), '80100001'],
    ['a ttl in minutes', android({ ttl: '60m' }), '80100001'],
    ['a ttl over 15 days', android({ ttl: '1296001s' }), '80100001'],
    ['a collapse_key over 100', android({ collapse_key: 101 }), '80100013'],
    ['a category that is not a string', android({ category: 1 }), '80100001'],
    ['an unknown urgency', android({ urgency: 'LOW' }), '80100001'],
    ['HIGH urgency without the right', android({ urgency: 'HIGH' }), '80300011'],
    ['HIGH importance without the right', notice({ importance: 'HIGH' }), '80300011'],
    ['an unknown receipt configuration', android({ receipt_id: 'RCP9' }), '80300013'],
    ['an unknown user type', android({ target_user_type: 2 }), '80100001'],
    ['a missing title', notice({ title: undefined }), '80100001'],
    ['a missing body', notice({ body: '' }), '80100001'],
    ['a missing click_action', notice({ click_action: undefined }), '80100001'],
    ['a page without intent', notice({ click_action: { type: 1 } }), '80100001'],
    ['a URL without https', notice({ click_action: { type: 2, url: 'http://a' } }), '80100001'],
    ['a click of another type', notice({ click_action: { type: 9 } }), '80100001'],
    ['big text without title', notice({ style: 1, big_body: 'x' }), '80100001'],
    ['six inbox lines', notice({ style: 3, inbox_content: ['1', '2', '3', '4', '5', '6'] }), '80100001'],
    ['the style of big pictures', notice({ style: 2 }), '80100001'],
    ['an unknown importance', notice({ importance: 'MAX' }), '80100001'],
    ['foreground_show as text', notice({ foreground_show: 'false' }), '80100001'],
    ['a badge without class', notice({ badge: { add_num: 1 } }), '80100001'],
    ['a badge that adds 0', notice({ badge: { class: 'a', add_num: 0 } }), '80100001'],
    ['a badge of 100', notice({ badge: { class: 'a', set_num: 100 } }), '80100001'],
    ['an http picture', notice({ image: 'http://a/b.png' }), '80100001'],
    [
      'four buttons',
      notice({ buttons: [1, 2, 3, 4].map(() => ({ name: 'a', action_type: 0 })) }),
      '80100001',
    ],
    ['a forbidden word', notice({ body: 'a FORBIDDEN_WORD here' }), '80100016'],
  ]
  it.each(refusals)('refuses %s', async (_name, body, code) => {
    const { simulator, login, post } = await start()
    expect(await post(await login(), body)).toMatchObject({ status: 400, code })
    expect(simulator.ledger().accepted).toBe(0)
  })

  const passes: [string, unknown][] = [
    [
      '4096 bytes in addition to the tokens',
      message({ token: Array.from({ length: 1000 }, (_, i) => `${i}`.padStart(130, 'x')) }),
    ],
    [
      'titles given outside android',
      {
        message: {
          notification: { title: 'a', body: 'b' },
          android: { notification: { click_action } },
          token: ['t'],
        },
      },
    ],
    ['pass-through', { message: { data: '{"cmd":"sync"}', android: { ttl: '600s' }, token: ['t'] } }],
    ['big text', notice({ style: 1, big_title: 'a', big_body: 'b' })],
    ['a badge set to zero', notice({ badge: { class: 'a', set_num: 0 } })],
    ['a ttl with decimals', android({ ttl: '3.123456789s' })],
    ['an unknown category', android({ category: 'NEWS' })],
  ]
  it.each(passes)('accepts %s', async (_name, body) => {
    const { login, post } = await start()
    expect(await post(await login(), body)).toMatchObject({ status: 200, code: '80000000' })
  })

  it('accepts HIGH with the right', async () => {
    const { login, post } = await start({ highAllowed: true })
    expect(await post(await login(), android({ urgency: 'HIGH' }))).toMatchObject({ code: '80000000' })
    expect(await post(await login(), notice({ importance: 'HIGH' }))).toMatchObject({ code: '80000000' })
  })

  it('refuses pictures that were not verified, by rule', async () => {
    const { simulator, login, post } = await start()
    simulator.setFaults({ rules: ['image_verification'] })
    const image = 'https://img.example/a.png'
    expect(await post(await login(), notice({ image }))).toMatchObject({ status: 400, code: '80100022' })
    expect(await post(await login(), message())).toMatchObject({ code: '80000000' })
  })

  it('requires the content type of JSON', async () => {
    const { login, post } = await start()
    const reply = await post(await login(), message(), undefined, { 'content-type': 'text/plain' })
    expect(reply).toMatchObject({ status: 400, code: '80100003' })
  })
})

describe('huawei simulator: tokens, ledger and rates', () => {
  it('lists illegal tokens in msg and accepts the others', async () => {
    const { simulator, login, post } = await start()
    simulator.kill(['dead'])
    const reply = await post(await login(), message({ token: ['a', 'ILLEGAL1', 'dead', 'a'] }))
    expect(reply).toMatchObject({ status: 200, code: '80100000' })
    expect(JSON.parse(reply.msg!)).toEqual({
      success: 2,
      failure: 2,
      illegal_tokens: ['ILLEGAL1', 'dead'],
    })
    expect(simulator.ledger(7001)).toEqual({ accepted: 2, distinct: 1, duplicates: 1 })
  })

  it('replies 80300007 if no token is valid', async () => {
    const { login, post } = await start()
    expect(await post(await login(), message({ token: ['ILLEGAL1'] }))).toMatchObject({
      status: 200,
      code: '80300007',
    })
  })

  it('refuses HarmonyOS tokens', async () => {
    const { login, post } = await start()
    const reply = await post(await login(), message({ token: ['IQAAAACy0A', 'MAMzLgA', 'MAAALgB'] }))
    expect(JSON.parse(reply.msg!).illegal_tokens).toEqual(['MAMzLgA', 'MAAALgB'])
  })

  it('records nothing for validate_only', async () => {
    const { simulator, login, post } = await start()
    expect(await post(await login(), { ...message(), validate_only: true })).toMatchObject({
      code: '80000000',
    })
    expect(simulator.ledger().accepted).toBe(0)
  })

  it('replies with an empty 503 above its rate of devices', async () => {
    const now = 1_760_000_000_000
    const { login, post } = await start({ devicesPerSecond: 2, now: () => now })
    const token = await login()
    expect(await post(token, message({ token: ['a', 'b'] }))).toMatchObject({ code: '80000000' })
    expect(await post(token, message())).toEqual({ status: 503 })
  })
})

describe('huawei simulator: v3', () => {
  const path = `/v3/${app.projectId}/messages:send`
  /** A token of https://developer.huawei.com/consumer/cn/doc/harmonyos-references/push-scenariozed-api-request-struct */
  const tokenOf = (at = Date.now(), key = privateKey) => {
    const aud = 'https://oauth-login.cloud.huawei.com/oauth2/v3/token'
    const iat = Math.floor(at / 1000)
    const claims = { aud, iss: account.subAccount, iat, exp: iat + 3600 }
    return jwt.sign(claims, key, { algorithm: 'PS256', keyid: account.keyId })
  }
  const isAlert = { 'push-type': '0' }
  const alert = (over: object = {}, options: object = {}) => ({
    payload: {
      notification: { category: 'IM', title: 'a', body: 'b', clickAction: { actionType: 0 }, ...over },
    },
    target: { token: ['MAMzLgA'] },
    pushOptions: { ttl: 600, biTag: '7001', ...options },
  })

  const isVoice = { 'push-type': '2' }
  const voice = (over: object = {}) => {
    const { payload, ...rest } = alert({ category: 'PLAY_VOICE', ...over })
    return { ...rest, payload: { ...payload, extraData: '{"text":"arrived"}' } }
  }
  const call = (ttl: number) => ({
    payload: { extraData: '{"room":"9"}' },
    target: { token: ['MAMzLgA'] },
    pushOptions: { ttl, biTag: '7001' },
  })
  const card = {
    moduleName: 'entry',
    abilityName: 'FormAbility',
    formName: 'widget',
    formId: 423434262,
    version: 123456,
    formData: { temp: '22.5' },
  }
  const target = { token: ['MAMzLgA'] }

  it.each([
    ['a voice broadcast', voice(), '2'],
    ['a call', call(30), '10'],
    ['a card', { payload: card, target }, '1'],
    ['a live view', { payload: { activityId: 1, operation: 0, event: 'TAXI', version: 1 }, target }, '7'],
    ['a page by action and uri', alert({ clickAction: { actionType: 1, action: 'a', uri: 'b://c' } }), '0'],
  ])('accepts %s', async (_name, body, pushType) => {
    const { post } = await start()
    expect(await post(tokenOf(), body, path, { 'push-type': pushType })).toMatchObject({ code: '80000000' })
  })

  it('refuses kinds of messages that the app has no right to, with the rule no_push_type_right', async () => {
    const { simulator, post } = await start()
    simulator.setFaults({ rules: ['no_push_type_right'] })
    const reply = await post(tokenOf(), voice(), path, isVoice)
    expect(JSON.parse(reply.msg!).illegalTokens).toEqual({ noPushTypeRight: ['MAMzLgA'] })
    expect(await post(tokenOf(), alert(), path, isAlert)).toMatchObject({ code: '80000000' })
  })

  it('takes away messages that were sent with this notifyId, to these tokens, with a JWT', async () => {
    const { simulator, login, post } = await start()
    const revokePath = `/v1/${app.clientId}/messages:revoke`
    const revoke = (notifyId: unknown, token: unknown = ['MAMzLgA'], headers: object = isAlert) =>
      post(tokenOf(), { notifyId, token }, revokePath, headers)
    await post(tokenOf(), alert({ notifyId: 77 }), path, isAlert)
    expect(await revoke(77)).toMatchObject({ code: '80000000' })
    expect(simulator.withdrawn(77)).toEqual(['MAMzLgA'])
    const partly = await revoke(77, ['MAMzLgA', 'MAMzLgB'])
    expect(partly.code).toBe('80100000')
    expect(JSON.parse(partly.msg!).illegalTokens).toEqual({ notifyIdNotFound: ['MAMzLgB'] })
    expect(await revoke(78)).toMatchObject({ code: '80300007' })
    expect(await revoke('77')).toMatchObject({ code: '80100001' })
    expect(await revoke(77, [])).toMatchObject({ code: '80300010' })
    expect(await revoke(77, ['MAMzLgA'], { 'push-type': '6' })).toMatchObject({ code: '80100001' })
    const body = { notifyId: 77, token: ['MAMzLgA'] }
    expect(await post(await login(), body, revokePath, isAlert)).toMatchObject({ code: '80200001' })
    // A new message with the same id is shown again.
    await post(tokenOf(), alert({ notifyId: 77 }), path, isAlert)
    expect(simulator.withdrawn(77)).toEqual([])
  })

  it('accepts a pinned JWT until it expires', async () => {
    const pinnedKey = `-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAx1YNDkkn43bQ5eTnBEJY
hsws729dx1yWDLWCQZIgFMh23lJA88zpD4Zejv3Z746tjGPDbC7/lTmHsgxFHyrL
d6hEAmMCifXYNOZH85rFKFf2xkE1rN8OOo77eQl3Fy17FKxTKcx0UtDC9PsoRkI4
yPT5qChDr8nsogRJJAQxMJlDi/uJ3nbUrge6/EZlnS2A10Ufl8H+BXocZmaFRTaX
hwCqyYcr79QfUsV+F8ScTwLyUuZduQoph55bF+BvVpIEh9SqXlbHKAOa3O+dF5nN
Hq64sKNuZLrRKeWUun9Mj+1trmMguwICmtLTiAz7T6vczkYKyJ7nNlcHZ1cYqK20
bwIDAQAB
-----END PUBLIC KEY-----`
    // The token of `tokenOf` at 1760000000, signed once with an RSA key.
    const pinned =
      'eyJhbGciOiJQUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImtleS0xIn0.eyJhdWQiOiJodHRwczovL29hdXRoLWxvZ2luLmNsb3VkLmh1YXdlaS5jb20vb2F1dGgyL3YzL3Rva2VuIiwiaXNzIjoiMTEwMDA1IiwiaWF0IjoxNzYwMDAwMDAwLCJleHAiOjE3NjAwMDM2MDB9.O4ndeY5z5FXTMgIfV_0mwcPE3iwA_A_iOfT6GNduJkT-IMzwnCBQHCyXmVOgmhW47Y2VPhJnk-OTi-VcZFoFKXiUqKvYqKBjPys60DVkA9ga0Fg-qb82DI714Pjlqof-H1QaQuPLQmR7_W0_I5yf1-rToGLhSuMgNCtCDc1NTa3ESovSroAVaSfwpbn0suB945gyMt6ksFmQwYZX0lRzrpEYi0HRGS_fo9aXDDsbGC6z2JVbhEbb_Wkifb9t96x498dKO8cbbrvNZqwve4oh3YE2BOOZ3avHpMbihyQEUIo6QPMT5Ke_JCsoW0v5IhPAjZbDDxXLI-jzHm_V9EGGhQ'
    const credentials = [{ ...app, serviceAccount: { ...account, publicKey: pinnedKey } }]
    let now = 1_760_000_000_000
    const { post } = await start({ credentials, now: () => now })
    expect(await post(pinned, alert(), path, isAlert)).toMatchObject({ code: '80000000' })
    const changed = pinned.replace('.O4nd', '.O4ne')
    expect(await post(changed, alert(), path, isAlert)).toMatchObject({ code: '80200001' })
    now += 3_600_000
    expect(await post(pinned, alert(), path, isAlert)).toMatchObject({ status: 401, code: '80200005' })
  })

  it('accepts an alert and a background message with a JWT', async () => {
    const { simulator, post } = await start()
    expect(await post(tokenOf(), alert(), path, isAlert)).toMatchObject({ code: '80000000' })
    const background = { payload: { extraData: 'x' }, target: { token: ['MAMzLgB'] } }
    const accepted = await post(tokenOf(), background, path, { 'push-type': '6' })
    expect(accepted).toMatchObject({ code: '80000000' })
    expect(simulator.ledger(7001).accepted).toBe(1)
  })

  it('refuses OAuth tokens, JWTs of another key and of another project', async () => {
    const { login, post } = await start()
    const refused = { status: 401, code: '80200001' }
    expect(await post(await login(), alert(), path, isAlert)).toMatchObject(refused)
    const forged = tokenOf(Date.now(), newKeys().privateKey)
    expect(await post(forged, alert(), path, isAlert)).toMatchObject(refused)
    expect(await post(tokenOf(), alert(), '/v3/777/messages:send', isAlert)).toMatchObject(refused)
  })

  it('takes the JWT in v1 and v2 too', async () => {
    const { post } = await start()
    for (const to of [`/v1/${app.clientId}/messages:send`, `/v2/${app.projectId}/messages:send`])
      expect(await post(tokenOf(), message(), to)).toMatchObject({ code: '80000000' })
  })

  it('lists refused tokens by reason, also if no token is valid', async () => {
    const { post } = await start()
    const refused = {
      tokenFormatError: ['ILLEGAL1'],
      noRight: ['NORIGHT1'],
      noPushTypeRight: ['NOPUSHTYPE1'],
      appinfoError: ['APPINFO1'],
      disableSendHuaweiMsgBecauseOfPenalty: ['PENALTY1'],
      countryNotSupport: ['COUNTRY1'],
      tokenPlatformNotSupport: ['IQAAAACy0A', '0865831037206556300001986600CN01'],
    }
    for (const valid of [['MAMzLgA'], []]) {
      const token = [...valid, ...Object.values(refused).flat()]
      const reply = await post(tokenOf(), { ...alert(), target: { token } }, path, isAlert)
      expect(reply.code).toBe(valid.length > 0 ? '80100000' : '80300007')
      expect(JSON.parse(reply.msg!)).toEqual({ success: valid.length, failure: 8, illegalTokens: refused })
    }
  })

  it('refuses a picture for a token whose app may not show it', async () => {
    const { post } = await start()
    const target = { token: ['IMGPOLICY1', 'MAMzLgA'] }
    const withImage = alert({ image: 'https://img.example/a.png' })
    const reply = await post(tokenOf(), { ...withImage, target }, path, isAlert)
    expect(JSON.parse(reply.msg!).illegalTokens).toEqual({ differentImgVerifyPolicy: ['IMGPOLICY1'] })
    expect(await post(tokenOf(), { ...alert(), target }, path, isAlert)).toMatchObject({ code: '80000000' })
  })

  it('counts test messages per day', async () => {
    let now = Date.parse('2026-11-16T23:59:00+08:00')
    const { post } = await start({ testPerDay: 2, now: () => now })
    const test = () => post(tokenOf(now), alert({}, { testMessage: true }), path, isAlert)
    const codes = [await test(), await test(), await test()].map(({ code }) => code)
    expect(codes).toEqual(['80000000', '80000000', '80300029'])
    now += 60_000
    expect((await test()).code).toBe('80000000')
  })

  it.each([
    ['no push-type', alert(), {}, '80100001'],
    ['an alert without category', alert({ category: undefined }), isAlert, '80100001'],
    ['a ttl that is a string', alert({}, { ttl: '600s' }), isAlert, '80100001'],
    ['a biTag of more than 64 bytes', alert({}, { biTag: '包'.repeat(22) }), isAlert, '80100001'],
    ['an unknown receipt configuration', alert({}, { receiptId: 'RCP9' }), isAlert, '80300013'],
    ['a page without address', alert({ clickAction: { actionType: 1 } }), isAlert, '80100001'],
    ['a badge of 100', alert({ badge: { setNum: 100 } }), isAlert, '80100001'],
    ['background without data', alert(), { 'push-type': '6' }, '80100001'],
    ['foregroundShow as text', alert({ foregroundShow: 'false' }), isAlert, '80100001'],
    ['an alert of the voice category', alert({ category: 'PLAY_VOICE' }), isAlert, '80100001'],
    ['a voice broadcast of another category', voice({ category: 'IM' }), isVoice, '80100001'],
    ['a voice broadcast without text to speak', alert({ category: 'PLAY_VOICE' }), isVoice, '80100001'],
    ['a call that is kept for 61 seconds', call(61), { 'push-type': '10' }, '80100001'],
    ['a card without its fields', alert(), { 'push-type': '1' }, '80100001'],
    ['a live view without its fields', alert(), { 'push-type': '7' }, '80100001'],
    ['a collapseKey of 101', alert({}, { collapseKey: 101 }), isAlert, '80100001'],
    ['no target', { payload: {} }, isAlert, '80100003'],
    ['no tokens', { ...alert(), target: { token: [] } }, isAlert, '80300010'],
    [
      'eleven test tokens',
      { ...alert({}, { testMessage: true }), target: { token: [...'abcdefghijk'] } },
      isAlert,
      '80300030',
    ],
    ['a body of more than 4096 bytes', alert({ body: 'x'.repeat(4096) }), isAlert, '80300008'],
  ])('refuses %s', async (_name, body, headers, code) => {
    const { post } = await start()
    expect(await post(tokenOf(), body, path, headers)).toMatchObject({ status: 400, code })
  })
})

describe('huawei simulator: receipts', () => {
  async function listen() {
    const { posts, url, close } = await startReceiver()
    toClose.push(close)
    return { posts, url }
  }
  const statusesOf = (posts: ReceivedPost[]) =>
    posts.flatMap(({ body }) => JSON.parse(body.toString()).statuses as Record<string, unknown>[])

  const entry = { biTag: '7001', requestId: expect.any(String) }
  const v1 = (token: string, status: number) => ({
    ...entry,
    token,
    appid: app.clientId,
    status,
    timestamp: expect.any(Number),
  })
  const v2 = (token: string, result: number) => ({
    ...entry,
    token,
    pushType: 0,
    appPackageName: 'com.example.app',
    deliveryStatus: { result, timestamp: expect.any(Number) },
  })

  it.each([
    [1, v1],
    [2, v2],
  ] as const)('reports the status of each token in version %d', async (version, statusOf) => {
    const { url, posts } = await listen()
    const { simulator, login, post } = await start({ receipts: [{ clientId: app.clientId, url, version }] })
    const token = ['a', 'UNINST1', 'MISMATCH1', 'NOTIFYOFF1', 'CAP1', 'ILLEGAL1']
    await post(await login(), message({ token }))
    await simulator.receiptsPosted()
    expect(statusesOf(posts)).toEqual([
      statusOf('a', 0),
      statusOf('UNINST1', 2),
      statusOf('MISMATCH1', 5),
      statusOf('NOTIFYOFF1', 6),
      statusOf('CAP1', 102),
    ])
    expect(posts[0]!.headers).not.toHaveProperty('x-huawei-callback-id')
  })

  // https://developer.huawei.com/consumer/en/doc/HMSCore-References/https-send-receipt-api-0000001051066120
  const key = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')
  it.each([
    ['the decoded key', false, Buffer.from(key, 'base64')],
    ['the key as text, for old configurations', true, Buffer.from(key)],
  ])('signs with %s', async (_name, rawKey, secret) => {
    const { url, posts } = await listen()
    const { simulator, login, post } = await start()
    simulator.registerReceipts({ clientId: app.clientId, url, user: 'pushuser', key, rawKey })
    await post(await login(), message())
    await simulator.receiptsPosted()
    const header = posts[0]!.headers['x-huawei-callback-id']!
    const [, timestamp, nonce, value] = /^timestamp=(\d{13}); nonce=(\S+); value=(\S+)$/.exec(header)!
    const hmac = createHmac('sha256', secret).update(`${timestamp}${nonce}pushuser`)
    expect(value).toBe(hmac.digest('base64'))
  })

  it('posts at most 100 entries at a time', async () => {
    const { url, posts } = await listen()
    const { simulator, login, post } = await start({ receipts: [{ clientId: app.clientId, url }] })
    await post(await login(), message({ token: Array.from({ length: 250 }, (_, i) => `t${i}`) }))
    await simulator.receiptsPosted()
    const sizes = posts.map((one) => statusesOf([one]).length)
    expect(sizes.sort((a, b) => a - b)).toEqual([50, 100, 100])
  })

  it('posts to the URL of receipt_id', async () => {
    const [usual, named] = [await listen(), await listen()]
    const { simulator, login, post } = await start({
      receipts: [
        { clientId: app.clientId, url: usual.url },
        { clientId: app.clientId, url: named.url, receiptId: 'RCP1' },
      ],
    })
    const token = await login()
    await post(token, android({ receipt_id: 'RCP1' }))
    await post(token, message())
    await simulator.receiptsPosted()
    expect([usual.posts.length, named.posts.length]).toEqual([1, 1])
  })

  it('counts messages without a known category, and those of apps that may not classify, as marketing', async () => {
    const { url, posts } = await listen()
    const receipts = [{ clientId: app.clientId, url }]
    const { simulator, login, post } = await start({ marketingPerDay: 1, receipts })
    const token = await login()
    for (const category of ['EXPRESS', 'EXPRESS', undefined, 'NEWS']) await post(token, android({ category }))
    simulator.setFaults({ rules: ['no_self_classification'] })
    await post(token, android({ category: 'EXPRESS' }))
    await post(token, android({ target_user_type: 1 }))
    await simulator.receiptsPosted()
    expect(statusesOf(posts).map(({ status }) => status)).toEqual([0, 0, 0, 102, 102, 0])
  })

  it('posts nothing for validate_only and with silentReceipts', async () => {
    const { url, posts } = await listen()
    const { simulator, login, post } = await start({ receipts: [{ clientId: app.clientId, url }] })
    const token = await login()
    await post(token, { ...message(), validate_only: true })
    simulator.setFaults({ silentReceipts: true })
    await post(token, message())
    await simulator.receiptsPosted()
    expect(posts).toEqual([])
  })
})
