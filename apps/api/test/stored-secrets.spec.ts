import { dumpOf } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createPasswords } from '../src/auth/passwords.ts'
import { countingPasswords, openTestApi, type TestApi } from './harness.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi({
    overrides: { passwords: createPasswords({ derive: countingPasswords().derive }) },
  })
})
afterAll(() => api.close())

describe('a dump of the database', () => {
  it('contains no push token, no callback key and no header of a callback that its adapter does not read', async () => {
    const anna = await api.user('anna', { guid: 'anna-phone' })
    const kiosk = await api.call('/push/register', { token: null, body: { device_guid: 'kiosk' } })
    await api.client.importDevices([{ device_guid: 'imported', platform: 'android' }])
    const replaced = await api.client.replacePushToken('kiosk')
    const tokens = (await api.client.devices()).list.map(({ push_token }) => push_token)
    expect(tokens).toEqual(expect.arrayContaining([anna.pushToken, replaced]))
    tokens.push(kiosk.data.push_token)
    // One task that is planned at once, and one that the planner resolves later.
    const later = Math.floor(Date.now() / 1000) + 3600
    for (const message of [{ title: 'now' }, { title: 'later', show_begin_time: later }])
      await api.client.notify({ audience: { push_token: [anna.pushToken] }, message })
    const { callback_url } = await api.client.putCertificate({ provider: 2, app_id: '100', app_secret: 's' })
    const path = new URL(callback_url!).pathname
    const callbackKey = path.split('/').at(-1)!
    expect(callbackKey).toHaveLength(22)
    // A callback is deleted once it is counted.
    await api.context.db.pool.query('CREATE RULE kept AS ON DELETE TO callback DO INSTEAD NOTHING')
    const status = { appid: '100', biTag: '1', token: 'huawei-token', status: 0, timestamp: Date.now() }
    const answer = await fetch(`${api.url}${path}`, {
      method: 'POST',
      headers: { 'x-huawei-callback-id': 'signature-of-huawei', authorization: 'Basic proxy-credential' },
      body: JSON.stringify({ statuses: [status] }),
    })
    expect(answer.status).toBe(200)

    const text = await dumpOf(api.context.db)
    for (const known of ['anna-phone', 'signature-of-huawei']) expect(text).toContain(known)
    for (const secret of [...tokens, callbackKey, 'proxy-credential']) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(Buffer.from(secret).toString('hex'))
    }
  })
})
