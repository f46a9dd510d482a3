import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import jwt from 'jsonwebtoken'
import { createTokens, newTokenKey } from '../src/auth/tokens.ts'
import { openTestApi, type TestApi } from './harness.ts'

const ours = newTokenKey()
const theirs = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
let api: TestApi
let user: { userId: number; token: string }

beforeAll(async () => {
  api = await openTestApi({ env: { HERALD_TOKEN_KEY: ours } })
  user = await api.user('anna')
})
afterAll(() => api.close())

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const now = () => Math.floor(Date.now() / 1000)
/** The claims of an admin's token. */
const claims = (more: object = {}) => ({
  app: api.appId,
  role: 'admin',
  ver: 0,
  iat: now(),
  exp: now() + 3600,
  aud: 'access',
  iss: 'herald',
  sub: api.appId,
  ...more,
})
const unsigned = (header: object, signature = '') => `${encode(header)}.${encode(claims())}.${signature}`
const hmac = (key: string | Buffer, algorithm = 'HS256') => {
  const input = `${encode({ alg: algorithm, typ: 'JWT' })}.${encode(claims())}`
  const digest = `sha${algorithm.slice(2)}`
  return `${input}.${createHmac(digest, key).update(input).digest('base64url')}`
}
const signed = (
  key: KeyObject | string,
  options: { alg?: jwt.Algorithm; header?: object; claims?: object } = {},
) =>
  jwt.sign(JSON.parse(JSON.stringify(claims(options.claims))), key, {
    algorithm: options.alg ?? 'ES256',
    header: { alg: options.alg ?? 'ES256', ...options.header } as jwt.JwtHeader,
  })

const codeFor = async (token: string, appId?: string) =>
  (await api.call('/push/task/list', { token, appId, body: {} })).code

describe('whether a token was issued here', () => {
  const tokens = createTokens({ privateKey: ours, days: 1 })
  const admin = { app: 'a', role: 'admin', subject: 'a', version: 0 } as const
  const { token, storeToken } = tokens.issue(admin)
  const [header, payload, signature] = token.split('.') as [string, string, string]
  const changed = (more: object) =>
    `${header}.${encode({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), ...more })}.${signature}`

  it('is known without a signature check, also to another process', () => {
    const elsewhere = createTokens({ privateKey: ours, days: 1 })
    expect(elsewhere.isIssued(token, 'a')).toBe(true)
    expect(elsewhere.isCached(token)).toBe(false)
    expect(createTokens({ privateKey: newTokenKey(), days: 1 }).isIssued(token, 'a')).toBe(false)
  })

  it('is denied for another application, another use, an expired token and changed claims', () => {
    const { isIssued } = tokens
    expect(isIssued(token, 'b')).toBe(false)
    expect(isIssued(storeToken, 'a')).toBe(false)
    expect(isIssued(tokens.issue(admin, 0).token, 'a')).toBe(false)
    for (const more of [{ app: 'b' }, { sub: 'b' }, { ver: 1 }, { role: 'user' }, { exp: now() + 9e6 }])
      for (const app of ['a', 'b']) expect(isIssued(changed(more), app)).toBe(false)
    for (const text of ['', '.', 'a.b.c', `${header}.${encode(null)}.`, `${header}.${encode([])}.`])
      expect(isIssued(text, 'a')).toBe(false)
  })

  it('is denied after its tag came with a wrong signature', () => {
    const own = tokens.issue({ ...admin, version: 7 }).token
    const forged = own.slice(0, -6)
    expect(tokens.isIssued(forged, 'a')).toBe(true)
    expect(tokens.verify(forged)).toBeUndefined()
    for (const next of [forged, own.slice(0, -7)]) expect(tokens.isIssued(next, 'a')).toBe(false)
    expect(tokens.verify(own)).toMatchObject({ version: 7 })
  })

  it('remembers a bounded number of invalid tokens, and none that is too long', () => {
    expect(tokens.verify(`x${'y'.repeat(5000)}`)).toBeUndefined()
    for (let i = 0; i < 3000; i++) tokens.verify(`forged ${i}`)
    expect(tokens.isCached('forged 2999')).toBe(true)
    expect(tokens.isCached('forged 0')).toBe(false)
  })
})

describe('a token that was not issued here', () => {
  it('would be valid if it were signed with our key', async () => {
    expect(await codeFor(signed(ours))).toBe(200)
  })

  const forged: [string, () => string][] = [
    ...['none', 'None', 'NONE', 'nOnE', ''].map((alg): [string, () => string] => [
      `alg “${alg}”, no signature`,
      () => unsigned({ alg, typ: 'JWT' }),
    ]),
    ['no alg at all', () => unsigned({ typ: 'JWT' })],
    ['alg none with a signature', () => unsigned({ alg: 'none' }, 'AAAA')],
    ['an ES256 signature of zeros', () => unsigned({ alg: 'ES256' }, Buffer.alloc(64).toString('base64url'))],
    ['an empty ES256 signature', () => unsigned({ alg: 'ES256' })],
    ['HS256 with our public key in PEM as the secret', () => hmac(api.deps.sessions.tokens.publicKey)],
    ['HS256 with the same PEM, trimmed', () => hmac(api.deps.sessions.tokens.publicKey.trim())],
    [
      'HS256 with our public key in DER',
      () => hmac(createPublicKey(api.deps.sessions.tokens.publicKey).export({ type: 'spki', format: 'der' })),
    ],
    ['HS512 with our public key', () => hmac(api.deps.sessions.tokens.publicKey, 'HS512')],
    ['HS256 with an empty secret', () => hmac('')],
    ['their own ES256 key', () => signed(theirs.privateKey)],
    ['their own RS256 key', () => signed(rsa.privateKey, { alg: 'RS256' })],
    ['their own PS256 key', () => signed(rsa.privateKey, { alg: 'PS256' })],
    [
      'their own key inside the header',
      () => signed(theirs.privateKey, { header: { jwk: theirs.publicKey.export({ format: 'jwk' }) } }),
    ],
    [
      'an address of their key',
      () => signed(theirs.privateKey, { header: { jku: `${api.url}/openapi.json` } }),
    ],
    [
      'an address of their certificate',
      () => signed(theirs.privateKey, { header: { x5u: `${api.url}/docs` } }),
    ],
    ...['../../../../dev/null', '/dev/null', "x' OR '1'='1", '0', '__proto__', 'a\u0000b'].map(
      (kid): [string, () => string] => [
        `their own key under the kid ${JSON.stringify(kid)}`,
        () => signed(theirs.privateKey, { header: { kid } }),
      ],
    ),
    ['an empty secret under the kid /dev/null', () => hmac('')],
    [
      'a header it wants us to understand',
      () => signed(theirs.privateKey, { header: { crit: ['exp'], b64: false } }),
    ],
    ['nothing but dots', () => '..'],
    ['a header that is not valid JSON', () => `AAAA.${encode(claims())}.AAAA`],
    ['five parts, as an encrypted one has', () => `${signed(ours)}.AAAA.AAAA`],
  ]
  it.each(forged)('is refused with %s', async (_name, forge) => {
    expect(await codeFor(forge())).toBe(40102)
  })
})

describe('a token that was issued here', () => {
  it('is refused when anything in it was changed', async () => {
    const [header, payload, signature] = user.token.split('.') as [string, string, string]
    const own = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const changed = [
      { ...own, role: 'admin' },
      { ...own, role: 'admin', sub: api.appId },
      { ...own, sub: '1' },
      { ...own, exp: own.exp + 1 },
      { ...own, ver: own.ver + 1 },
    ]
    for (const body of changed) expect(await codeFor(`${header}.${encode(body)}.${signature}`)).toBe(40102)
    const other = signed(ours, { claims: { iat: now() - 5 } }).split('.')
    expect(await codeFor(`${other[0]}.${other[1]}.${signature}`)).toBe(40102)
  })

  const wrong: [string, object][] = [
    ['for another audience', { aud: 'store' }],
    ['for no audience', { aud: undefined }],
    ['by another issuer', { iss: 'somebody' }],
    ['for a time that is over', { exp: now() - 1 }],
    ['without an end', { exp: undefined }],
    ['for a time to come', { nbf: now() + 3600 }],
    ['for an older version', { ver: -1 }],
    ['for a version to come', { ver: 1 }],
    ['without a version', { ver: undefined }],
    ['for a version that is no number', { ver: '0' }],
    ['for a role that does not exist', { role: 'root' }],
    ['for no role', { role: undefined }],
    ['for the operator', { role: 'operator' }],
    ['for a user that is no number', { role: 'user', sub: 'anna' }],
    ['for nobody', { role: 'user', sub: undefined }],
    ['for no application', { app: undefined }],
    ['for a list of applications', { app: ['x'] }],
  ]
  it.each(wrong)('is refused %s', async (_name, more) => {
    expect(await codeFor(signed(ours, { claims: more }))).toBe(40102)
  })

  it('is refused at another application, whatever it claims', async () => {
    const foreign = await api.createApplication('foreign')
    expect(await codeFor(api.adminToken, foreign.appId)).toBe(40102)
    expect(await codeFor(foreign.token)).toBe(40102)
    expect(await codeFor(foreign.token, foreign.appId)).toBe(200)
  })

  it('is a single token: not in a list, not behind a prefix', async () => {
    for (const token of [
      `Bearer ${api.adminToken}`,
      `${api.adminToken}, ${api.adminToken}`,
      `x ${api.adminToken}`,
    ])
      expect(await codeFor(token)).toBe(40102)
  })

  it('is removed from the cache of verified tokens when it expires', () => {
    const tokens = createTokens({ privateKey: ours, days: 1 })
    const real = Date.now
    let time = Date.now()
    Date.now = () => time
    try {
      const { token } = tokens.issue(
        { app: 'a', role: 'admin', subject: 'a', version: 0 },
        Date.now() - 86_397_000,
      )
      expect(tokens.verify(token)).toBeDefined()
      time += 5000
      expect(tokens.verify(token)).toBeUndefined()
    } finally {
      Date.now = real
    }
  })
})
