import { newSigningKey } from '@herald/testkit'
import { describe, expect, it } from '@jest/globals'
import { type Certificate, CertificateProblem } from '../../src/channel.ts'
import { adapter as fcm } from '../../src/fcm/channel.ts'
import { sampleCertificate } from '../samples.ts'
import { accountCertificate, accountFile, clientEmail, newAccountKey, projectId } from './credentials.ts'

const key = newAccountKey()
const ecKey = newSigningKey()
const fileWith = (over: Record<string, unknown>) =>
  sampleCertificate('fcm', { certificate: accountFile(key, over) })

describe('FCM settings', () => {
  it('come from the service-account file', () => {
    expect(fcm.readSettings(accountCertificate(key))).toMatchObject({
      projectId,
      clientEmail,
      privateKeyId: '0123456789abcdef',
    })
  })

  it('accept another project than that of the file', () => {
    expect(fcm.readSettings(accountCertificate(key, { appId: ' other-project ' })).projectId).toBe(
      'other-project',
    )
  })

  it('repair a key whose line breaks were escaped twice', () => {
    expect(fcm.readSettings(fileWith({ private_key: key.replaceAll('\n', '\\n') })).clientEmail).toBe(
      clientEmail,
    )
  })

  it('accept the older token endpoint, or none', () => {
    for (const token_uri of ['https://accounts.google.com/o/oauth2/token', undefined])
      expect(fcm.readSettings(fileWith({ token_uri })).clientEmail).toBe(clientEmail)
  })

  it('have Google’s rate unless the certificate sets another', () => {
    const plain = fcm.readSettings(accountCertificate(key))
    expect(fcm.limits(plain, 'marketing')).toMatchObject({ requestsPerSecond: 10_000 })
    const lifted = accountCertificate(key, {
      extra: { limits: { requests_per_s: 50_000 }, default_class: 'service' },
    })
    expect(fcm.limits(fcm.readSettings(lifted), 'marketing')).toMatchObject({ requestsPerSecond: 50_000 })
    expect(fcm.defaultClass(fcm.readSettings(lifted))).toBe('service')
    expect(fcm.defaultClass(plain)).toBe('marketing')
  })
})

const problems: [name: string, record: Certificate, sentence: RegExp][] = [
  ['nothing', sampleCertificate('fcm'), /^certificate is missing.*service-account JSON/],
  [
    'a server key',
    sampleCertificate('fcm', { certificate: 'AAAAabc:APA91b' }),
    /^certificate is not valid JSON/,
  ],
  ['a JSON list', sampleCertificate('fcm', { certificate: '[]' }), /must be the JSON object/],
  [
    'a user’s credentials',
    fileWith({ type: 'authorized_user' }),
    /a key of type authorized_user, not a service/,
  ],
  [
    'the app’s own file',
    sampleCertificate('fcm', { certificate: '{"project_info":{},"client":[]}' }),
    /google-services\.json of an app/,
  ],
  ['JSON of no type', sampleCertificate('fcm', { certificate: '{}' }), /JSON without a type/],
  ['no address', fileWith({ client_email: undefined }), /^client_email/],
  ['an address that is none', fileWith({ client_email: 'herald' }), /^client_email/],
  ['no key', fileWith({ private_key: '' }), /^private_key .* is missing/],
  ['half a key', fileWith({ private_key: key.slice(0, 300) }), /^private_key .* cannot be read/],
  ['an EC key', fileWith({ private_key: ecKey }), /^private_key .* must be an RSA key, not ec/],
  [
    'a token endpoint elsewhere',
    fileWith({ token_uri: 'https://evil.example/token' }),
    /^token_uri .* must be/,
  ],
  ['a token endpoint that is no text', fileWith({ token_uri: 5 }), /^token_uri .* must be/],
  ['no project', fileWith({ project_id: undefined }), /^app_id is missing/],
  [
    'a project that is none',
    accountCertificate(key, { appId: 'my project/../x' }),
    /^app_id is not a Firebase/,
  ],
  ['an unknown key of extra', accountCertificate(key, { extra: { server_key: 'x' } }), /^extra\.server_key/],
]

describe('FCM settings say what is wrong', () => {
  it.each(problems)('with %s', (_name, record, sentence) => {
    let problem: unknown
    try {
      fcm.readSettings(record)
    } catch (error) {
      problem = error
    }
    expect(problem).toBeInstanceOf(CertificateProblem)
    expect((problem as CertificateProblem).message).toMatch(sentence)
    expect((problem as CertificateProblem).message).not.toMatch(/PRIVATE KEY|\n/)
  })
})

describe('an FCM token', () => {
  it.each(['d1:APA91bOK', `cJ8_-x:APA91b${'Z'.repeat(150)}`])('like %s is valid', (token) => {
    expect(fcm.checkToken(token)).toBeUndefined()
  })
  it.each(['', 'no-colon', 'two:co:lons', 'd1:with space', ':x', 'x:', `d1:${'x'.repeat(4100)}`])(
    'like %j is refused',
    (token) => {
      expect(fcm.checkToken(token)).toMatch(/^device_token is not an FCM/)
    },
  )
})
