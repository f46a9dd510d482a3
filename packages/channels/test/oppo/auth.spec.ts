import { describe, expect, it } from '@jest/globals'
import { authForm, readAuth, signAuth } from '../../src/oppo/auth.ts'
import { readSettings } from '../../src/oppo/settings.ts'
import { sampleCertificate } from '../samples.ts'

const hour = 3_600_000
const now = 1_760_000_000_000
const reply = (body: unknown, status = 200) => ({ status, headers: {}, text: JSON.stringify(body) })
const good = (create_time: unknown) =>
  reply({ code: 0, message: 'success', data: { auth_token: '58ad47319e8d725350a5afd5', create_time } })

describe('oppo auth', () => {
  it('signs like the vendor’s example', () => {
    expect(signAuth('sim-app-key', '1760000000000', 'sim-master-secret')).toBe(
      '557f20ccd8a0e2b128465780ba7548f4bdc8497bb9ba0858f3d684e3176d17d9',
    )
  })

  it('sends key, time and signature, never the secret', () => {
    const settings = readSettings(
      sampleCertificate('oppo', { appKey: 'sim-app-key', appSecret: 'sim-master-secret' }),
    )
    expect(authForm(settings, now)).toBe(
      'app_key=sim-app-key&timestamp=1760000000000&sign=557f20ccd8a0e2b128465780ba7548f4bdc8497bb9ba0858f3d684e3176d17d9',
    )
  })

  it.each([now, String(now), undefined, 'x', now + hour, 0])(
    'keeps a token made at %j for 20 hours',
    (createTime) => {
      expect(readAuth(good(createTime), now)).toEqual({
        value: '58ad47319e8d725350a5afd5',
        renewAt: now + 20 * hour,
        expiresAt: now + 24 * hour,
      })
    },
  )

  it('renews an existing token earlier, but not on every call', () => {
    expect(readAuth(good(now - 5 * hour), now)).toMatchObject({
      renewAt: now + 15 * hour,
      expiresAt: now + 19 * hour,
    })
    expect(readAuth(good(now - 22 * hour), now)).toMatchObject({ renewAt: now + hour / 6 })
  })

  it.each([
    reply({ code: 16, message: 'Invalid Signature' }),
    reply({ code: 0, data: {} }),
    reply({ code: 0, data: null }),
    reply({ code: 0, data: { auth_token: '' } }),
    reply({ code: 0, data: { auth_token: 'x' } }, 500),
    { status: 200, headers: {}, text: '<html>' },
  ])('finds no token in %j', (answer) => {
    expect(readAuth(answer, now)).toBeUndefined()
  })
})
