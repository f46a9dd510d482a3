import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type ApnsConnection, openApnsSimAuth } from '../src/apns/auth.ts'
import { openTokenExchange } from '../src/fcm/token.ts'
import { startHonorSimulator } from '../src/honor/simulator.ts'
import { startHuaweiSimulator } from '../src/huawei/simulator.ts'
import { startMeizuSimulator } from '../src/meizu/simulator.ts'
import { startOppoSimulator } from '../src/oppo/simulator.ts'
import type { Simulator } from '../src/simulator.ts'
import { startVivoSimulator } from '../src/vivo/simulator.ts'
import { startXiaomiSimulator } from '../src/xiaomi/simulator.ts'

const mode = { acceptUnknownCredentials: true }
const now = Math.floor(Date.now() / 1000)
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

const open: Simulator[] = []
afterEach(async () => {
  for (const simulator of open.splice(0)) await simulator.close()
})
async function start<S extends Simulator>(starting: Promise<S>): Promise<S> {
  const simulator = await starting
  open.push(simulator)
  return simulator
}
async function form(
  url: string,
  fields: Record<string, string>,
  headers = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields), headers })
  return (await response.json()) as Record<string, unknown>
}

describe('a simulator that accepts unknown credentials', () => {
  it('of APNs: a well-formed token of any team, but no forged one of a known key', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const other = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const auth = openApnsSimAuth({
      environment: 'production',
      keys: [{ keyId: 'KNOWNKEY01', teamId: 'KNOWNTEAM1', key: pem }],
      certificateAuthorities: [],
      acceptAnyCredentials: false,
      acceptUnknown: true,
      tokenUpdateGrace: 1,
      now: Date.now,
    })
    const check = (kid: string, iss: string, by = other, alg = 'ES256', faults = {}) => {
      const text = `${part({ alg, kid })}.${part({ iss, iat: now })}`
      const signature = sign('sha256', Buffer.from(text), { key: by, dsaEncoding: 'ieee-p1363' })
      const connection = { jwtChangedAt: 0, earlyChanges: 0, expired: false } as ApnsConnection
      return auth.check(`bearer ${text}.${signature.toString('base64url')}`, connection, faults)
    }
    const refused = { status: 403, reason: 'InvalidProviderToken' }
    expect(check('NEWKEY0001', 'NEWTEAM001')).toEqual({ topics: undefined, byCertificate: false })
    expect(check('KNOWNKEY01', 'KNOWNTEAM1', privateKey)).toMatchObject({ byCertificate: false })
    expect(check('KNOWNKEY01', 'KNOWNTEAM1')).toEqual(refused)
    expect(check('short', 'NEWTEAM001')).toEqual(refused)
    expect(check('NEWKEY0001', 'NEWTEAM001', other, 'HS256')).toEqual(refused)
    expect(check('NEWKEY0001', 'NEWTEAM001', other, 'ES256', { refuseAuth: true })).toEqual(refused)
  })

  it('of FCM: an assertion of any service account, but no forged one of a known account', () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const key = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const exchange = openTokenExchange({
      accounts: [{ clientEmail: 'known@demo', key, projects: ['demo'] }],
      acceptAnyCredentials: false,
      acceptUnknown: true,
      ownUrl: () => 'https://sim',
      now: Date.now,
    })
    const ask = (iss: string, alg = 'RS256') => {
      const claims = {
        iss,
        scope: 'https://www.googleapis.com/auth/firebase.messaging',
        aud: 'https://oauth2.googleapis.com/token',
        iat: now,
        exp: now + 600,
      }
      const text = `${part({ alg })}.${part(claims)}`
      const assertion = `${text}.${sign('RSA-SHA256', Buffer.from(text), other).toString('base64url')}`
      const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
      const body = String(new URLSearchParams({ grant_type, assertion }))
      return exchange.exchange('POST', 'application/x-www-form-urlencoded', body, {})
    }
    expect(ask('new@newcomer')).toMatchObject({ status: 200 })
    expect(ask('known@demo')).toMatchObject({ status: 400 })
    expect(ask('new@newcomer', 'none')).toMatchObject({ status: 400 })
  })

  it('of Huawei and Honor: any client, but not a known one with another secret', async () => {
    const huawei = await start(
      startHuaweiSimulator({ ...mode, credentials: [{ clientId: '100', clientSecret: 'right' }] }),
    )
    const honor = await start(
      startHonorSimulator({ ...mode, credentials: [{ appId: '1', clientId: '100', clientSecret: 'right' }] }),
    )
    for (const url of [`${huawei.url}/oauth2/v3/token`, `${honor.url}/auth/token`]) {
      const ask = (client_id: string, client_secret: string) =>
        form(url, { grant_type: 'client_credentials', client_id, client_secret })
      expect(await ask('100', 'right')).toMatchObject({ access_token: expect.any(String) })
      expect(await ask('200', 'anything')).toMatchObject({ access_token: expect.any(String) })
      expect(await ask('100', 'wrong')).not.toHaveProperty('access_token')
      expect(await ask('200', '')).not.toHaveProperty('access_token')
    }
  })

  it('of OPPO and vivo: any key, but not a known one with another signature', async () => {
    const apps = [{ appId: '1', appKey: 'known', masterSecret: 'right' }]
    const oppo = await start(startOppoSimulator({ ...mode, apps }))
    const timestamp = String(Date.now())
    const ask = (app_key: string, secret: string) =>
      form(`${oppo.url}/server/v1/auth`, { app_key, timestamp, sign: sha256(app_key + timestamp + secret) })
    expect(await ask('known', 'right')).toMatchObject({ code: 0 })
    expect(await ask('new', 'anything')).toMatchObject({ code: 0 })
    expect(await ask('known', 'wrong')).toMatchObject({ code: 16 })
    oppo.setFaults({ refuseAuth: true })
    expect(await ask('new', 'anything')).toMatchObject({ code: 16 })

    const credentials = [{ appId: 1, appKey: 'known', appSecret: 'right' }]
    const vivo = await start(startVivoSimulator({ ...mode, credentials }))
    const admit = async (appId: number) => {
      const body = JSON.stringify({ appId, appKey: 'known', timestamp, sign: '0'.repeat(32) })
      const headers = { 'content-type': 'application/json' }
      return (await fetch(`${vivo.url}/message/auth`, { method: 'POST', body, headers })).json()
    }
    expect(await admit(2)).toMatchObject({ result: 0 })
    expect(await admit(1)).toMatchObject({ result: 10206 })
  })

  it('of Meizu and Xiaomi: any application, unless a fault refuses', async () => {
    const credentials = [{ appId: 1, appSecret: 'right' }]
    const meizu = await start(startMeizuSimulator({ ...mode, credentials }))
    const push = (appId: string) =>
      form(`${meizu.url}/garcia/api/server/push/varnished/pushByPushId`, {
        appId,
        pushIds: 'x',
        messageJson: '{}',
        sign: 'wrong',
      })
    expect(await push('1')).toMatchObject({ code: '1006' })
    expect((await push('2')).code).not.toBe('1006')

    const xiaomi = await start(startXiaomiSimulator({ ...mode, apps: [] }))
    const send = () =>
      form(`${xiaomi.url}/v2/message/regid`, { registration_id: 'x' }, { authorization: 'key=new' })
    expect((await send()).code).not.toBe(21301)
    xiaomi.setFaults({ refuseAuth: true })
    expect(await send()).toMatchObject({ code: 21301 })
  })
})
