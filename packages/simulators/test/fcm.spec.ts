import { generateKeyPairSync, sign } from 'node:crypto'
import { type H2Client, openH2Client } from '@herald/testkit/h2-client'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { Agent, fetch } from 'undici'
import { type FcmSimulator, type FcmSimulatorOptions, startFcmSimulator } from '../src/fcm/simulator.ts'

const projectId = 'parcel-post'
const clientEmail = `herald@${projectId}.iam.gserviceaccount.com`
const newKey = () =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString()
const key = newKey()
const otherKey = newKey()
const token = 'd1:APA91bOK'
const sendPath = `/v1/projects/${projectId}/messages:send`
const messagingScope = 'https://www.googleapis.com/auth/firebase.messaging'
const formType = 'application/x-www-form-urlencoded'
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** An assertion of https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests */
function assertion(
  over: Record<string, unknown> = {},
  signer = key,
  header: object = { alg: 'RS256', typ: 'JWT' },
) {
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: clientEmail,
    scope: messagingScope,
    aud: 'https://oauth2.googleapis.com/token',
    iat: now,
    exp: now + 3600,
    ...over,
  }
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${encode(header)}.${encode(claims)}`
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), signer).toString('base64url')}`
}

describe('the FCM simulator', () => {
  const opened: { close(): unknown }[] = []
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.close()
  })

  async function start(
    options: FcmSimulatorOptions = {},
  ): Promise<{ simulator: FcmSimulator; client: H2Client }> {
    const simulator = await startFcmSimulator({
      accounts: [{ clientEmail, key, projects: [projectId] }],
      ...options,
    })
    opened.push(simulator)
    const client = openH2Client(simulator.url, { ca: simulator.ca })
    opened.push(client)
    return { simulator, client }
  }

  const exchange = async (client: H2Client, jwt: string, grant = grantType, type = formType) => {
    const form = new URLSearchParams({ grant_type: grant, assertion: jwt }).toString()
    const answer = await client.send({ ':method': 'POST', ':path': '/token', 'content-type': type }, form)
    return { status: answer.status, ...JSON.parse(answer.body) }
  }

  const bearer = async (client: H2Client, over: Record<string, unknown> = {}) =>
    `Bearer ${(await exchange(client, assertion(over))).access_token}`

  const post = async (
    client: H2Client,
    authorization: string | undefined,
    body: unknown,
    path = sendPath,
  ) => {
    const answer = await client.send(
      {
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/json; charset=UTF-8',
        ...(authorization ? { authorization } : {}),
      },
      typeof body === 'string' ? body : JSON.stringify(body),
    )
    return { status: answer.status, headers: answer.headers, ...JSON.parse(answer.body) }
  }

  const detail = (answer: { error?: { details?: Record<string, unknown>[] } }, type: string) =>
    answer.error?.details?.find((one) => String(one['@type']).endsWith(type))

  describe('the token exchange', () => {
    const granted = {
      status: 200,
      access_token: expect.stringMatching(/^ya29\./),
      expires_in: 3599,
      token_type: 'Bearer',
    }

    it('accepts a pinned assertion', async () => {
      const publicKey = `-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA2TA0r5RhCn6rHKDhQ/+u
rJNd4u0xB9yVb355+ejdQFLbX1frR+PxOE24TkTagTxLfr5uLJOfsBUIRSD6UlqT
X+ljMR5pJ05FYK+hBp7DEFDdEpUDSYK2R8Pb0dpjtNGzVHAABODYj/VALKbR61ZC
y0jXvKo0mqLl2pSdX5VlsEzL5CDN1C76OauZGsTyRuXz5B+kNExTNZSMDd6HRu4O
C+jmUm6NQjae1RmjMTdiZ6x1ZUfwaY41eHN13NGu6PBgQvEXe6stBlpjMPQGsjp+
HtyiOODsWSFuwsp2E9w8JWqS2BfgUm+AzHcUu1pmWdkxAZ2G0lZxPIo2x3XSZRYI
WwIDAQAB
-----END PUBLIC KEY-----`
      // The claims of `assertion` with iat 1760000000 and exp 1760003600, signed once with an RSA key.
      const pinned =
        'eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJoZXJhbGRAcGFyY2VsLXBvc3QuaWFtLmdzZXJ2aWNlYWNjb3VudC5jb20iLCJzY29wZSI6Imh0dHBzOi8vd3d3Lmdvb2dsZWFwaXMuY29tL2F1dGgvZmlyZWJhc2UubWVzc2FnaW5nIiwiYXVkIjoiaHR0cHM6Ly9vYXV0aDIuZ29vZ2xlYXBpcy5jb20vdG9rZW4iLCJpYXQiOjE3NjAwMDAwMDAsImV4cCI6MTc2MDAwMzYwMH0.Ukpfaklc-EN2cwSgfWRmgiBzAkgFby8ZsQedfPS3u2LHTUo4ma5GUgtXYB2MI4-Ruefc8BDH4YimLo378rFK3dprwGHpjkWJ344l-41H8oAmQme9buAL-sSdbFBGTA1kuKAJI4fc6QbgAyTTTDzUlXAaZcHEP4G-j9L0Rm8-h7cTabodjHHtRd4VGSkEpfA_ldeFN9z1eM8q4_D_CQVYvN_KVC4S7qaLJC4UyCH2OHc5nno73gK7WHSnWundyVYMttHB0QxDNp3ZMnb2gp2UvaxT-2RM9Xqj9WkFZL8Zt7FUSEc7lVA4zF6lfiBdwhjQrS4AR5CBL_PPNrSi5Sp6jQ'
      const accounts = [{ clientEmail, key: publicKey, projects: [projectId] }]
      const { client } = await start({ accounts, now: () => 1_760_000_000_000 })
      expect(await exchange(client, pinned)).toEqual(granted)
      expect(await exchange(client, pinned.replace('.Ukpf', '.Ukpg'))).toMatchObject({
        error: 'invalid_grant',
      })
    })

    const now = Math.floor(Date.now() / 1000)
    it.each<[string, string, string]>([
      ['no JWT', 'x.y', 'invalid_request'],
      ['JSON that is not valid', 'eyJ.eyJ.eyJ', 'invalid_request'],
      ['an unknown account', assertion({ iss: 'x@y.z' }), 'invalid_grant'],
      ['another key', assertion({}, otherKey), 'invalid_grant'],
      ['another algorithm', assertion({}, key, { alg: 'RS512' }), 'invalid_grant'],
      ['no times', assertion({ iat: undefined, exp: undefined }), 'invalid_grant'],
      ['a lifetime over an hour', assertion({ exp: now + 3700 }), 'invalid_grant'],
      ['times in the past', assertion({ iat: now - 7200, exp: now - 3600 }), 'invalid_grant'],
      ['times in the future', assertion({ iat: now + 3600, exp: now + 7000 }), 'invalid_grant'],
      ['no scope', assertion({ scope: '' }), 'invalid_scope'],
      ['another audience', assertion({ aud: 'https://example.com' }), 'invalid_grant'],
    ])('refuses %s', async (_name, jwt, error) => {
      const { client } = await start()
      expect(await exchange(client, jwt)).toMatchObject({
        status: 400,
        error,
        error_description: expect.any(String),
      })
    })

    it('refuses another grant and another content type', async () => {
      const { client } = await start()
      for (const answer of [
        await exchange(client, assertion(), 'password'),
        await exchange(client, assertion(), grantType, 'application/json'),
      ])
        expect(answer).toMatchObject({ status: 400, error: 'unsupported_grant_type' })
    })

    it('gives no access token for an unknown scope', async () => {
      const { client } = await start()
      const answer = await exchange(client, assertion({ scope: `${messagingScope}s` }))
      expect(answer).toEqual({ status: 200, id_token: expect.any(String) })
    })
  })

  describe('the send API', () => {
    const good = { message: { token, notification: { title: 'Order' }, data: { task_id: '7' } } }

    it('accepts a message and returns its name', async () => {
      const { simulator, client } = await start()
      const answer = await post(client, await bearer(client), good)
      expect(answer).toMatchObject({
        status: 200,
        name: expect.stringMatching(/^projects\/parcel-post\/messages\/0:/),
      })
      expect(simulator.ledger(7)).toEqual({ accepted: 1, distinct: 1, duplicates: 0 })
      expect(JSON.parse(simulator.received()[0]!.body)).toEqual(good)
    })

    it('refuses requests without a valid access token', async () => {
      let now = Date.now()
      const { client } = await start({ now: () => now })
      const authorization = await bearer(client)
      const reason = async (given?: string) => {
        const answer = await post(client, given, good)
        expect(answer).toMatchObject({ status: 401, error: { status: 'UNAUTHENTICATED' } })
        return detail(answer, 'ErrorInfo')?.reason
      }
      expect(await reason()).toBe('CREDENTIALS_MISSING')
      expect(await reason('Bearer ya29.unknown')).toBe('ACCESS_TOKEN_TYPE_UNSUPPORTED')
      now += 3_600_000
      expect(await reason(authorization)).toBe('ACCESS_TOKEN_EXPIRED')
    })

    it('refuses a scope without messaging and an account without the role', async () => {
      const { client } = await start()
      const scope = 'https://www.googleapis.com/auth/firebase.database'
      expect(await post(client, await bearer(client, { scope }), good)).toMatchObject({ status: 403 })
      const accounts = [{ clientEmail, key, projects: [projectId], withoutRole: true }]
      const { client: other } = await start({ accounts })
      const answer = await post(other, await bearer(other), good)
      expect(answer).toMatchObject({ status: 403, error: { status: 'PERMISSION_DENIED' } })
      expect(detail(answer, 'FcmError')).toBeUndefined()
    })

    it('takes the role away while it runs', async () => {
      const { simulator, client } = await start()
      const authorization = await bearer(client)
      simulator.setFaults({ rules: ['role_missing'] })
      const answer = await post(client, authorization, good)
      expect([answer.status, detail(answer, 'ErrorInfo')?.reason]).toEqual([403, 'IAM_PERMISSION_DENIED'])
      simulator.setFaults({})
      expect(await post(client, authorization, good)).toMatchObject({ status: 200 })
    })

    it('refuses other projects and paths', async () => {
      const { client } = await start()
      const authorization = await bearer(client)
      const answer = await post(client, authorization, good, '/v1/projects/other/messages:send')
      expect(answer).toMatchObject({ status: 403, error: { status: 'PERMISSION_DENIED' } })
      expect(detail(answer, 'FcmError')).toBeUndefined()
      const legacy = await client.send({ ':method': 'POST', ':path': '/fcm/send', authorization }, '{}')
      expect(legacy).toMatchObject({ status: 404, body: expect.stringContaining('<!DOCTYPE html>') })
    })

    const longText = 'x'.repeat(4097)
    it.each<[string, unknown, string]>([
      ['broken JSON', '{"message":', ''],
      ['an unknown field', { message: { token, priority: 'high' } }, 'message'],
      ['an unknown field below', { message: { token, android: { prio: 'x' } } }, 'message.android'],
      ['no target', { message: { data: {} } }, 'message'],
      ['two targets', { message: { token, topic: 'news' } }, 'message'],
      ['a token of another form', { message: { token: 'no-colon' } }, 'message.token'],
      ['a topic with a slash', { message: { topic: '/topics/news' } }, 'message.topic'],
      ['a number in data', { message: { token, data: { n: 12 } } }, 'message.data[0].value'],
      ['an object in data', { message: { token, data: { a: 'b', n: {} } } }, 'message.data[1].value'],
      ['a reserved key', { message: { token, data: { from: 'x' } } }, 'message.data'],
      ['a key that begins with google', { message: { token, data: { 'google.x': 'x' } } }, 'message.data'],
      ['a ttl without its unit', { message: { token, android: { ttl: '60' } } }, 'message.android.ttl'],
      ['a ttl over four weeks', { message: { token, android: { ttl: '2419201s' } } }, 'message.android.ttl'],
      [
        'an unknown priority',
        { message: { token, android: { priority: 'URGENT' } } },
        'message.android.priority',
      ],
      [
        'a colour of another form',
        { message: { token, android: { notification: { color: 'red' } } } },
        'message.android.notification.color',
      ],
      [
        'an image that is not a URL',
        { message: { token, android: { notification: { image: 'a.jpg' } } } },
        'message.android.notification.image',
      ],
      [
        'a count that is a string',
        { message: { token, android: { notification: { notification_count: '5' } } } },
        'message.android.notification.notification_count',
      ],
    ])('refuses %s', async (_name, body, field) => {
      const { simulator, client } = await start()
      const answer = await post(client, await bearer(client), body)
      expect(answer).toMatchObject({ status: 400, error: { code: 400, status: 'INVALID_ARGUMENT' } })
      expect(detail(answer, 'BadRequest')?.fieldViolations).toMatchObject([{ field }])
      expect(simulator.ledger().accepted).toBe(0)
    })

    it('describes a number in data as Google does', async () => {
      const { client } = await start()
      const answer = await post(client, await bearer(client), { message: { token, data: { n: 12 } } })
      expect(answer.error.message).toBe("Invalid value at 'message.data[0].value' (TYPE_STRING), 12")
      expect(detail(answer, 'FcmError')).toBeUndefined()
    })

    it('refuses a condition without details, and a large message without a field', async () => {
      const { client } = await start()
      const authorization = await bearer(client)
      const condition = await post(client, authorization, { message: { condition: 'a in topics' } })
      expect(condition).toMatchObject({ status: 400 })
      expect(condition.error.details).toBeUndefined()
      const large = await post(client, authorization, { message: { token, data: { k: longText } } })
      expect(large.error.message).toMatch(/too large/)
      expect(detail(large, 'BadRequest')).not.toHaveProperty('fieldViolations')
      expect(detail(large, 'FcmError')).toMatchObject({ errorCode: 'INVALID_ARGUMENT' })
    })

    it.each<[string, object]>([
      ['a topic', { topic: 'news' }],
      ['a condition', { condition: "'a' in topics && ('b' in topics || 'c' in topics)" }],
      ['camel case', { token, android: { collapseKey: 'x', notification: { channelId: 'y' } } }],
      ['lower case and fractions', { token, android: { priority: 'high', ttl: '3.5s' } }],
      [
        'fields for iOS and the web',
        { token, apns: { headers: { a: 'b' }, payload: { aps: {} } }, webpush: {} },
      ],
      ['a null', { token, notification: null }],
    ])('accepts %s', async (_name, message) => {
      const { client } = await start()
      expect(await post(client, await bearer(client), { message })).toMatchObject({ status: 200 })
    })

    it('checks a validate_only request and delivers nothing', async () => {
      const { simulator, client } = await start()
      const authorization = await bearer(client)
      expect(await post(client, authorization, { ...good, validate_only: true })).toMatchObject({
        status: 200,
        name: `projects/${projectId}/messages/fake_message_id`,
      })
      expect(await post(client, authorization, { message: {}, validate_only: true })).toMatchObject({
        status: 400,
      })
      expect(simulator.ledger().accepted).toBe(0)
      expect(simulator.received()).toEqual([])
    })

    it('refuses dead tokens, tokens of other projects and unknown tokens', async () => {
      const tokens = { 'other:x': { project: 'other' }, [token]: {} }
      const { simulator, client } = await start({ tokens, closedRegistry: true })
      const authorization = await bearer(client)
      const code = async (to: string) => {
        const answer = await post(client, authorization, { message: { token: to } })
        return [answer.status, detail(answer, 'FcmError')?.errorCode]
      }
      expect(await code(token)).toEqual([200, undefined])
      expect(await code('other:x')).toEqual([403, 'SENDER_ID_MISMATCH'])
      expect(await code('unknown:x')).toEqual([404, 'UNREGISTERED'])
      simulator.kill([token])
      expect(await code(token)).toEqual([404, 'UNREGISTERED'])
    })

    it.each([
      ['INVALID:x', 400, 'INVALID_ARGUMENT'],
      ['UNREGISTERED:x', 404, 'UNREGISTERED'],
      ['MISMATCH:x', 403, 'SENDER_ID_MISMATCH'],
      ['QUOTA:x', 429, 'QUOTA_EXCEEDED'],
      ['INTERNAL:x', 500, 'INTERNAL'],
      ['UNAVAILABLE:x', 503, 'UNAVAILABLE'],
      ['NOTFOUND:x', 404, undefined],
      ['CANCELLED:x', 499, undefined],
      ['THIRDPARTY:x', 401, 'THIRD_PARTY_AUTH_ERROR'],
    ])('replies to the preset token %s', async (to, status, code) => {
      const { client } = await start()
      const answer = await post(client, await bearer(client), { message: { token: to } })
      expect([answer.status, detail(answer, 'FcmError')?.errorCode]).toEqual([status, code])
    })

    it('limits the rates of one device and of the project', async () => {
      let now = Math.ceil(Date.now() / 60_000) * 60_000
      const { client } = await start({
        devicePerMinute: 2,
        projectPerMinute: 4,
        retryAfter: 30,
        now: () => now,
      })
      const authorization = await bearer(client, { iat: now / 1000 - 60, exp: now / 1000 + 600 })
      const status = async (to: string) =>
        (await post(client, authorization, { message: { token: to } })).status
      expect([await status('a:1'), await status('a:1'), await status('a:1')]).toEqual([200, 200, 429])
      expect([await status('b:1'), await status('c:1')]).toEqual([200, 429])
      now += 60_000
      const answer = await post(client, authorization, { message: { token: 'a:1' } })
      expect(answer.status).toBe(200)
    })
  })

  it('serves tokens, messages and /_sim/ over HTTP/1.1 too', async () => {
    const { simulator } = await start()
    const dispatcher = new Agent({ allowH2: false, connect: { ca: simulator.ca } })
    opened.push(dispatcher)
    const call = async (path: string, init: object = {}) => {
      const reply = await fetch(simulator.url + path, { ...init, dispatcher })
      return { status: reply.status, ...((await reply.json()) as { access_token?: string }) }
    }
    const body = new URLSearchParams({ grant_type: grantType, assertion: assertion() })
    const { access_token } = await call('/token', { method: 'POST', body })
    const sent = await call(sendPath, {
      method: 'POST',
      headers: { authorization: `Bearer ${access_token}` },
      body: JSON.stringify({ message: { token, data: { task_id: '7' } } }),
    })
    expect(sent.status).toBe(200)
    expect(await call('/_sim/ledger?task_id=7')).toMatchObject({ accepted: 1, distinct: 1 })
  })

  it('records that replies of the last seconds may be lost with a connection', async () => {
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now())
    try {
      const { simulator, client } = await start({ acceptAnyCredentials: true })
      const send = (to: string) =>
        post(client, 'Bearer any', { message: { token: to, data: { task_id: '7' } } })
      await send('a:1')
      clock.mockReturnValue(Date.now() + 4000)
      await send('b:1')
      simulator.setFaults({ cut: 1 })
      await expect(send('c:1')).rejects.toThrow()
      const other = openH2Client(simulator.url, { ca: simulator.ca })
      opened.push(other)
      const { body } = await other.send({ ':method': 'GET', ':path': '/_sim/ledger/tasks' })
      expect(JSON.parse(body)).toMatchObject({
        tasks: { 7: { tokens: ['a:1', 'b:1', 'c:1'], unheard: ['b:1', 'c:1'] } },
        unheard: 2,
      })
    } finally {
      clock.mockRestore()
    }
  })

  it('records that replies to requests that came together with one that is cut are lost', async () => {
    const { simulator, client } = await start({ acceptAnyCredentials: true })
    // The connection is open, so that all messages are written at once.
    await client.send({ ':method': 'GET', ':path': '/_sim/requests' })
    simulator.setFaults({ cut: 0.5 })
    const dice = jest.spyOn(Math, 'random').mockReturnValueOnce(0).mockReturnValue(0.9)
    try {
      const sent = Array.from({ length: 10 }, (_, i) =>
        post(client, 'Bearer any', { message: { token: `d${i}:1`, data: { task_id: '7' } } }),
      )
      const results = await Promise.allSettled(sent)
      expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['rejected']))
    } finally {
      dice.mockRestore()
    }
    const other = openH2Client(simulator.url, { ca: simulator.ca })
    opened.push(other)
    const { body } = await other.send({ ':method': 'GET', ':path': '/_sim/ledger/tasks' })
    const { tasks, unheard } = JSON.parse(body)
    const { tokens } = tasks[7]
    expect(tokens.length).toBeGreaterThan(1)
    expect(tasks[7].unheard).toEqual(tokens)
    expect(unheard).toBe(tokens.length)
  })

  it('accepts any credentials with acceptAnyCredentials', async () => {
    const { client } = await start({ accounts: [], acceptAnyCredentials: true })
    const unknown = assertion({ iss: 'x@y.z' }, otherKey)
    expect(await exchange(client, unknown)).toMatchObject({ status: 200, access_token: expect.any(String) })
    expect(await post(client, 'Bearer anything', { message: { token } })).toMatchObject({ status: 200 })
  })
})
