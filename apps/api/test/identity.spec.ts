import nodeCrypto, { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { findIdentity } from '@herald/db/tenants'
import { closeServer, listen } from '@herald/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { createIdentities } from '../src/identity/identities.ts'
import { createKeySetReader } from '../src/identity/key-set-reader.ts'
import { readKeySet, readPublicKey } from '../src/identity/verification-keys.ts'
import { freeLimits, openTestApi, type TestApi } from './harness.ts'

type Pair = { publicKey: KeyObject; privateKey: KeyObject }
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ed = generateKeyPairSync('ed25519')
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pem = ({ publicKey }: Pair) => publicKey.export({ type: 'spki', format: 'pem' }) as string
const jwk = ({ publicKey }: Pair, more: object = {}) => ({ ...publicKey.export({ format: 'jwk' }), ...more })

const ISSUER = 'https://login.example.com'
const AUDIENCE = 'shop'
const now = () => Math.floor(Date.now() / 1000)
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const claims = (more: object = {}) => ({
  iss: ISSUER,
  aud: AUDIENCE,
  sub: 'carol',
  iat: now(),
  exp: now() + 300,
  ...more,
})

type Alg = 'RS256' | 'ES256' | 'EdDSA'
function signature(alg: string, key: KeyObject, text: string): string {
  const data = Buffer.from(text)
  const made =
    alg === 'EdDSA'
      ? sign(null, data, key)
      : alg === 'ES256'
        ? sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' })
        : sign('sha256', data, key)
  return made.toString('base64url')
}
function token(
  pair: Pair,
  options: { alg?: Alg; header?: object; claims?: object; payload?: string } = {},
): string {
  const kind = pair.privateKey.asymmetricKeyType
  const alg = options.alg ?? (kind === 'rsa' ? 'RS256' : kind === 'ec' ? 'ES256' : 'EdDSA')
  const text = `${part({ alg, typ: 'JWT', ...options.header })}.${options.payload ?? part(claims(options.claims))}`
  return `${text}.${signature(alg, pair.privateKey, text)}`
}

/** An issuer of which the spec decides what it answers. */
let issuer: Server
let issuerUrl: string
let answer: { status?: number; body: string; location?: string } = { body: '{}' }
let reads = 0
const serve = (...keys: object[]) => {
  answer = { body: JSON.stringify({ keys }) }
}

let api: TestApi
let readKeys: ReturnType<typeof createKeySetReader>
beforeAll(async () => {
  issuer = createServer((request, response) => {
    reads++
    if (request.url === '/silent') return
    const { status = 200, body, location } = answer
    response.writeHead(location ? 302 : status, location ? { location } : {}).end(body)
  })
  issuerUrl = `http://issuer.test:${await listen(issuer)}/keys`
  // Here 127.0.0.1 is a public address and 127.0.0.2 a private one.
  readKeys = createKeySetReader({
    protocols: ['http:', 'https:'],
    mayCall: (address) => address === '127.0.0.1',
    resolveName: async (host) => [host === 'inside.test' ? '127.0.0.2' : '127.0.0.1'],
    limitMs: 60_000,
  })
  api = await openTestApi({
    overrides: (context) => ({
      limits: freeLimits(),
      identities: createIdentities({ db: context.db, log: context.log, readKeys }),
    }),
  })
})
afterAll(async () => {
  await api.close()
  await closeServer(issuer)
})

const put = (body: object) =>
  api.call('/admin/identity', { method: 'PUT', body: { issuer: ISSUER, audience: AUDIENCE, ...body } })
const exchange = (id_token: string, more: object = {}) =>
  api.call('/token/exchange', { token: null, body: { id_token, ...more } })
const pool = () => api.context.db.pool
/** As if the keys had been read that many seconds ago. */
async function age(seconds: number): Promise<void> {
  await pool().query(
    'UPDATE identity SET asked_at = now() - make_interval(secs => $1), read_at = now() - make_interval(secs => $1)',
    [seconds],
  )
  api.deps.identities.forget(api.appId)
}

describe('identity settings', () => {
  it('are saved, shown, replaced and removed', async () => {
    const nothing = {
      issuer: null,
      audience: null,
      jwks_url: null,
      public_key: null,
      user_claim: null,
      keys: [],
    }
    expect(await api.call('/admin/identity')).toMatchObject({ code: 200, data: nothing })
    expect((await api.call('/admin/identity/remove', { body: {} })).code).toBe(40401)
    const saved = await put({ public_key: pem(rsa), user_claim: 'uid' })
    expect(saved.data).toEqual({
      issuer: ISSUER,
      audience: AUDIENCE,
      jwks_url: null,
      public_key: pem(rsa),
      user_claim: 'uid',
      keys: [{ kid: null, alg: 'RS256' }],
    })
    expect((await api.call('/admin/identity')).data).toEqual(saved.data)
    serve(jwk(ec, { kid: 'e1' }), jwk(rsa, { kid: 'r1', use: 'sig', alg: 'RS256' }))
    const replaced = await put({ jwks_url: issuerUrl })
    expect(replaced.data).toMatchObject({
      jwks_url: issuerUrl,
      public_key: null,
      user_claim: 'sub',
      keys: [
        { kid: 'e1', alg: 'ES256' },
        { kid: 'r1', alg: 'RS256' },
      ],
    })
    expect((await api.call('/admin/identity/remove', { body: {} })).data).toEqual({ removed: true })
    expect((await api.call('/admin/identity')).data).toEqual(nothing)
    expect(await exchange(token(ec))).toMatchObject({
      code: 40103,
      message: 'The login failed: the id_token cannot be checked: the application has no identity settings.',
    })
    const { rows } = await pool().query(`SELECT action FROM audit WHERE action LIKE 'identity.%' ORDER BY id`)
    expect(rows.map(({ action }) => action)).toEqual(['identity.save', 'identity.save', 'identity.remove'])
  })

  const small = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })
  const ed448 = generateKeyPairSync('ed448')
  it.each([
    ['nothing', {}, 'jwks_url or public_key must be sent, and only one of them.'],
    [
      'both',
      { public_key: pem(ec), jwks_url: 'https://a.example' },
      'jwks_url or public_key must be sent, and only one of them.',
    ],
    ['text', { public_key: 'top secret' }, 'public_key must be a public key in PEM'],
    [
      'broken PEM',
      { public_key: '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----' },
      'public_key cannot be read',
    ],
    ['two keys', { public_key: pem(ed) + pem(ec) }, 'public_key must be one public key'],
    [
      'a private key',
      { public_key: ec.privateKey.export({ type: 'pkcs8', format: 'pem' }) },
      'public_key is a private key',
    ],
    ['a small key', { public_key: pem(small) }, 'public_key is an RSA key of fewer than 2048 bits.'],
    ['another curve', { public_key: pem(p384) }, 'public_key is an EC key of a curve other than P-256.'],
    ['another kind', { public_key: pem(ed448) }, 'public_key must be an RSA, EC (P-256) or Ed25519 key'],
    ['no URL', { jwks_url: 'issuer' }, 'jwks_url must be a URL.'],
    [
      'a password in the URL',
      { jwks_url: 'https://a:b@a.example' },
      'jwks_url must not contain a user name or password.',
    ],
    ['another protocol', { jwks_url: 'file:///etc/passwd' }, 'jwks_url must begin with'],
    [
      'a private address',
      { jwks_url: 'http://inside.test/keys' },
      'jwks_url must not point to a private address.',
    ],
    ['loopback', { jwks_url: 'http://127.0.0.2/keys' }, 'jwks_url must not point to a private address.'],
  ])('are refused with %s', async (_name, body, message) => {
    const { code, message: said } = await put(body)
    expect(code).toBe(40002)
    expect(said).toContain(message)
    expect((await api.call('/admin/identity')).data.issuer).toBeNull()
  })

  it.each([
    [{ status: 500, body: '' }, 'jwks_url responds with status 500.'],
    [{ body: 'no json' }, 'jwks_url does not answer with JSON.'],
    [{ body: '[]' }, 'jwks_url does not answer with a key set: it has no list `keys`.'],
    [{ body: '{"keys":[]}' }, 'jwks_url has no key that can be used'],
    [
      { body: JSON.stringify({ keys: [{ kty: 'oct', k: 'c2VjcmV0' }] }) },
      'jwks_url has no key that can be used',
    ],
    [{ body: JSON.stringify({ keys: [jwk(small, { kid: 's' })] }) }, 'jwks_url has no key that can be used'],
    [{ body: JSON.stringify({ keys: [jwk(rsa, { use: 'enc' })] }) }, 'jwks_url has no key that can be used'],
    [
      { body: JSON.stringify({ keys: [jwk(rsa, { alg: 'RS512' })] }) },
      'jwks_url has no key that can be used',
    ],
    [{ body: `{"keys":["${'x'.repeat(200_000)}"]}` }, 'jwks_url responds with more than 128 KiB.'],
    [{ body: '', location: 'http://inside.test/keys' }, 'jwks_url must not point to a private address.'],
    [{ body: '', location: 'ftp://issuer.test/keys' }, 'jwks_url redirects to a protocol other than HTTP.'],
  ])('are refused when the issuer answers %j', async (given, message) => {
    answer = given
    const { code, message: said } = await put({ jwks_url: issuerUrl })
    expect(code).toBe(40002)
    expect(said).toContain(message)
  })

  it('are read over https alone, within a limit of time', async () => {
    await expect(createKeySetReader()('http://issuer.test/keys')).rejects.toThrow('must begin with https://')
    const impatient = createKeySetReader({
      protocols: ['http:'],
      mayCall: () => true,
      resolveName: async () => ['127.0.0.1'],
      limitMs: 50,
    })
    await expect(impatient(issuerUrl.replace('/keys', '/silent'))).rejects.toThrow(
      'did not answer within 0.05 s',
    )
    const unresolved = createKeySetReader({ resolveName: () => new Promise(() => {}), limitMs: 50 })
    await expect(unresolved('https://issuer.test')).rejects.toThrow('did not answer within 0.05 s')
  })

  it('store no private part of a key', () => {
    const [stored] = readKeySet(
      JSON.stringify({ keys: [{ ...ec.privateKey.export({ format: 'jwk' }), kid: 'e' }] }),
    )
    expect(Object.keys(stored!.jwk).sort()).toEqual(['crv', 'kty', 'x', 'y'])
    expect(readPublicKey(pem(ed)).key.alg).toBe('EdDSA')
  })
})

describe('an exchanged token', () => {
  beforeAll(async () => {
    await put({ public_key: pem(ec) })
  })

  it('signs in as a user who is created at first sight, and binds the device', async () => {
    const first = await exchange(token(ec), { device_guid: 'phone' })
    expect(first.data).toMatchObject({
      encrypt_type: 0,
      user_id: expect.any(Number),
      push_token: expect.any(String),
      token: expect.any(String),
      store_token: expect.any(String),
    })
    const again = await exchange(token(ec, { claims: { aud: ['other', AUDIENCE], nbf: now() } }), {
      device_guid: 'phone',
    })
    expect(again.data).toMatchObject({ user_id: first.data.user_id, push_token: first.data.push_token })
    const devices = await api.call('/user/device/list', { token: first.data.token, body: {} })
    expect(devices.data.list.map((device: { device_guid: string }) => device.device_guid)).toEqual(['phone'])
    const other = await exchange(token(ec, { claims: { sub: 'dave' } }), { device_guid: 'phone' })
    expect(other.data.user_id).not.toBe(first.data.user_id)
    expect(other.data.push_token).not.toBe(first.data.push_token)
    expect((await exchange(token(ec))).data).not.toHaveProperty('push_token')
  })

  it('creates one user when first seen many times at once', async () => {
    const seen = await Promise.all(
      Array.from({ length: 20 }, () => exchange(token(ec, { claims: { sub: 'erin' } }))),
    )
    expect(new Set(seen.map(({ data }) => data.user_id)).size).toBe(1)
  })

  it('leaves a user whose password fails like a wrong one, until an admin sets one', async () => {
    const { data } = await exchange(token(ec, { claims: { sub: 'frank' } }))
    const wrong = await api.call('/token/user', { token: null, body: { name: 'nobody', password: 'x' } })
    for (const password of ['x', 'null', 'undefined'])
      for (const [path, body] of [
        ['/token/user', { name: 'frank', password }],
        ['/token/login', { login_name: 'frank', password }],
        ['/token/id', { user_id: data.user_id, password }],
      ] as const) {
        const { code, message } = await api.call(path, { token: null, body })
        expect([path, code, message]).toEqual([path, 40103, wrong.message])
      }
    await pool().query('DELETE FROM login_failure')
    const body = { user_id: data.user_id, password: 'franks own' }
    expect((await api.call('/admin/user/password', { body })).code).toBe(200)
    expect(
      (await api.call('/token/user', { token: null, body: { name: 'frank', password: 'franks own' } })).code,
    ).toBe(200)
  })

  it('is of the user with that name, also if the user has a password', async () => {
    const made = await api.user('grace')
    const { data } = await exchange(token(ec, { claims: { sub: 'grace' } }))
    expect(data.user_id).toBe(made.userId)
    expect(
      (await api.call('/token/user', { token: null, body: { name: 'grace', password: 'grace-password' } }))
        .code,
    ).toBe(200)
  })

  it('is of the claim that the settings name; numbers are exact', async () => {
    await put({ public_key: pem(ec), user_claim: 'uid' })
    const payload = Buffer.from(
      JSON.stringify(claims({ uid: 0 })).replace('"uid":0', '"uid":9007199254740993'),
    ).toString('base64url')
    const { data } = await exchange(token(ec, { payload }))
    const { rows } = await pool().query('SELECT username FROM app_user WHERE id = $1', [data.user_id])
    expect(rows[0].username).toBe('9007199254740993')
    for (const uid of [undefined, '', '  ', null, 1.5, {}, ['a'], true, 'x'.repeat(129), 'a\nb', '\ud800'])
      expect([uid, (await exchange(token(ec, { claims: { uid } }))).code]).toEqual([uid, 40103])
    await put({ public_key: pem(ec), user_claim: '__proto__' })
    expect((await exchange(token(ec))).code).toBe(40103)
    await put({ public_key: pem(ec) })
  })

  it('needs an argon2 hash neither at first sight nor later', async () => {
    const used: string[] = []
    const { hash, verify } = api.deps.passwords
    api.deps.passwords.hash = async (password) => {
      used.push('hash')
      return hash(password)
    }
    api.deps.passwords.verify = async (password, stored) => {
      used.push('verify')
      return verify(password, stored)
    }
    for (let i = 0; i < 2; i++) await exchange(token(ec, { claims: { sub: 'heidi' } }))
    Object.assign(api.deps.passwords, { hash, verify })
    expect(used).toEqual([])
  })

  it('is refused with user_id or group_id, which it cannot honour', async () => {
    const headers = {
      user_id: String((await api.user('ivan')).userId),
      'x-group-id': String((await api.client.createGroup('everybody')).group_id),
    }
    for (const [name, value] of Object.entries(headers)) {
      const call = { headers: { [name]: value }, body: { id_token: token(ec) } }
      expect((await api.call('/token/exchange', call)).code).toBe(40002)
    }
  })
})

describe('a hostile id_token', () => {
  const hmac = (key: string | Buffer) => {
    const text = `${part({ alg: 'HS256' })}.${part(claims())}`
    return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
  }
  const withHeader = (header: object) => token(ec, { header })
  const tampered = () => {
    const [header, , given] = token(ec).split('.') as [string, string, string]
    return `${header}.${part(claims({ sub: 'root' }))}.${given}`
  }
  const der = () => {
    const text = `${part({ alg: 'ES256' })}.${part(claims())}`
    return `${text}.${sign('sha256', Buffer.from(text), ec.privateKey).toString('base64url')}`
  }
  const attacks: [string, () => string, string][] = [
    ['no JWT', () => 'hello', 'is not a signed JWT'],
    ['five parts', () => `${token(ec)}.x.y`, 'is not a signed JWT'],
    ['no signature', () => `${part({ alg: 'none' })}.${part(claims())}.`, 'is not a signed JWT'],
    ['none', () => `${part({ alg: 'none' })}.${part(claims())}.AAAA`, 'has another algorithm'],
    ['None', () => `${part({ alg: 'nOnE' })}.${part(claims())}.AAAA`, 'has another algorithm'],
    ['HS256 with the public key', () => hmac(pem(ec)), 'has another algorithm'],
    [
      'HS256 with the DER of it',
      () => hmac(ec.publicKey.export({ type: 'spki', format: 'der' })),
      'has another algorithm',
    ],
    ['HS256 with nothing', () => hmac(''), 'has another algorithm'],
    ['ES384', () => withHeader({ alg: 'ES384' }), 'has another algorithm'],
    ['an alg that is a list', () => withHeader({ alg: ['ES256'] }), 'has another algorithm'],
    ['RS256 with an RSA key of its own', () => token(rsa), 'has another algorithm than the public key'],
    ['EdDSA with a key of its own', () => token(ed), 'has another algorithm than the public key'],
    ['another key', () => token(stranger), 'has a wrong signature'],
    [
      'its own key in the header',
      () => token(stranger, { header: { jwk: jwk(stranger) } }),
      'has a wrong signature',
    ],
    [
      'an address of keys in the header',
      () => token(stranger, { header: { jku: issuerUrl, x5u: issuerUrl } }),
      'has a wrong signature',
    ],
    [
      'a kid that is a path',
      () => token(stranger, { header: { kid: '../../dev/null' } }),
      'has a wrong signature',
    ],
    ['a kid that is SQL', () => token(stranger, { header: { kid: "' OR 1=1 --" } }), 'has a wrong signature'],
    ['a kid that is an object', () => withHeader({ kid: {} }), 'has a kid that is not a string'],
    ['critical headers', () => withHeader({ crit: ['b64'], b64: false }), 'has critical headers'],
    ['changed claims', tampered, 'has a wrong signature'],
    ['a DER signature', der, 'has a wrong signature'],
    [
      'a signature of zeros',
      () => token(ec).replace(/\.[^.]*$/, `.${Buffer.alloc(64).toString('base64url')}`),
      'has a wrong signature',
    ],
    ['a short signature', () => token(ec).slice(0, -8), 'has a wrong signature'],
    [
      'claims that are a list',
      () => token(ec, { payload: part([claims()]) }),
      'is not a JWT: its parts are not JSON objects',
    ],
    [
      'claims that are not valid JSON',
      () => token(ec, { payload: 'AAAA' }),
      'is not a JWT: its parts are not JSON',
    ],
    [
      'claims that are no UTF-8',
      () => token(ec, { payload: Buffer.from([0x22, 0xff, 0x22]).toString('base64url') }),
      'is not a JWT: its parts are not JSON',
    ],
    ['another issuer', () => token(ec, { claims: { iss: `${ISSUER}/` } }), 'is of another issuer'],
    ['no issuer', () => token(ec, { claims: { iss: undefined } }), 'is of another issuer'],
    ['another audience', () => token(ec, { claims: { aud: 'shop2' } }), 'is for another audience'],
    ['other audiences', () => token(ec, { claims: { aud: ['a', ['shop']] } }), 'is for another audience'],
    ['no audience', () => token(ec, { claims: { aud: undefined } }), 'is for another audience'],
    [
      'an audience that is an object',
      () => token(ec, { claims: { aud: { shop: 1 } } }),
      'is for another audience',
    ],
    ['no expiry', () => token(ec, { claims: { exp: undefined } }), 'has no expiry'],
    ['an expiry that is text', () => token(ec, { claims: { exp: '99999999999' } }), 'has no expiry'],
    ['an expiry in the past', () => token(ec, { claims: { exp: now() - 1 } }), 'has expired'],
    ['a begin in the future', () => token(ec, { claims: { nbf: now() + 600 } }), 'is not valid yet (nbf)'],
    ['an issue in the future', () => token(ec, { claims: { iat: now() + 600 } }), 'is not valid yet (iat)'],
    ['a begin that is text', () => token(ec, { claims: { nbf: '0' } }), 'has an invalid nbf'],
  ]
  beforeAll(async () => {
    await put({ public_key: pem(ec) })
  })

  it.each(attacks)(
    'with %s is refused with the cause, and nothing of it is repeated',
    async (_name, make, cause) => {
      const given = make()
      const before = reads
      const { code, message, text } = await exchange(given)
      expect([code, message]).toEqual([
        40103,
        expect.stringContaining(`The login failed: the id_token ${cause}`),
      ])
      for (const piece of given.split('.').filter((one) => one.length > 8)) expect(text).not.toContain(piece)
      expect(reads).toBe(before)
    },
  )

  it('of another application is refused', async () => {
    const other = await api.createApplication('elsewhere')
    const answered = await api.call('/token/exchange', {
      appId: other.appId,
      token: null,
      body: { id_token: token(ec) },
    })
    expect(answered.code).toBe(40103)
  })

  it('counts as a failed login of its address, but not with an admin token', async () => {
    const limited = await openTestApi({
      overrides: {
        limits: {
          ...freeLimits(),
          failedLogin: { take: () => 7, giveBack() {} },
        },
      },
    })
    try {
      const body = { id_token: 'hello' }
      const anonymous = await limited.call('/token/exchange', { token: null, body })
      expect([anonymous.code, anonymous.headers.get('retry-after')]).toEqual([42902, '7'])
      expect((await limited.call('/token/exchange', { body })).code).toBe(40103)
      const bearer = { authorization: `Bearer ${limited.adminToken}` }
      expect((await limited.call('/token/exchange', { token: null, headers: bearer, body })).code).toBe(40103)
    } finally {
      await limited.close()
    }
  })
})

describe('keys at an address', () => {
  const kid = (id: string) => ({ header: { kid: id } })
  beforeEach(async () => {
    serve(jwk(ec, { kid: 'e1' }), jwk(rsa, { kid: 'r1' }), jwk(ed, { kid: 'd1', alg: 'EdDSA' }))
    expect((await put({ jwks_url: issuerUrl })).code).toBe(200)
    reads = 0
  })

  it('verify all three algorithms, by kid and without one, and are not read again', async () => {
    for (const [pair, id] of [
      [ec, 'e1'],
      [rsa, 'r1'],
      [ed, 'd1'],
    ] as const) {
      expect((await exchange(token(pair, kid(id)))).code).toBe(200)
      expect((await exchange(token(pair))).code).toBe(200)
    }
    // The kid of a key of another kind: the key decides the algorithm.
    expect((await exchange(token(rsa, kid('e1')))).code).toBe(40103)
    expect(reads).toBe(0)
  })

  it('are read again for an unknown kid, once for all that arrive together', async () => {
    serve(jwk(stranger, { kid: 'e2' }))
    await age(31)
    const seen = await Promise.all(Array.from({ length: 10 }, () => exchange(token(stranger, kid('e2')))))
    expect(seen.map(({ code }) => code)).toEqual(Array(10).fill(200))
    expect(reads).toBe(1)
    // A key that the issuer has withdrawn ends with that.
    expect((await exchange(token(ec, kid('e1')))).code).toBe(40103)
  })

  it('are read again for a token without a kid that no key fits', async () => {
    serve(jwk(stranger))
    await age(31)
    expect((await exchange(token(stranger))).code).toBe(200)
    expect(reads).toBe(1)
  })

  it('are not read more often than every 30 seconds, however many kids are invented', async () => {
    await age(31)
    for (let i = 0; i < 20; i++) {
      const { code, message } = await exchange(token(stranger, kid(`invented-${i}`)))
      expect([code, message]).toEqual([
        40103,
        'The login failed: the id_token is signed with a key that the issuer does not have (kid and algorithm).',
      ])
      expect(reads).toBe(1)
      await age(10)
    }
    await age(31)
    await exchange(token(stranger, kid('invented')))
    expect(reads).toBe(2)
  })

  it('keep working while the issuer is down or answers nonsense, also in a process that starts then', async () => {
    for (const broken of [{ status: 503, body: '' }, { body: 'no json' }, { body: '{"keys":[]}' }]) {
      answer = broken
      await age(4000)
      expect((await exchange(token(stranger, kid('e2')))).code).toBe(40103)
      expect((await exchange(token(ec, kid('e1')))).code).toBe(200)
    }
    expect(reads).toBeGreaterThanOrEqual(3)
    const restarted = createIdentities({ db: api.context.db, log: api.context.log, readKeys })
    expect(await restarted.usernameIn(api.appId, token(ec, kid('e1')))).toBe('carol')
  })

  it('stay as old as they are when a read fails, and are read again after five minutes', async () => {
    answer = { status: 503, body: '' }
    await age(3700)
    expect((await exchange(token(ec, kid('e1')))).code).toBe(200)
    const failed = (await findIdentity(api.context.db, api.appId))!
    expect(failed.readAge).toBeGreaterThan(3600)
    // Nobody waits for a read that has ended.
    expect(failed.unfinished).toBe(false)
    serve(jwk(rsa, { kid: 'r1' }))
    await pool().query(`UPDATE identity SET asked_at = now() - interval '301 seconds'`)
    api.deps.identities.forget(api.appId)
    expect((await exchange(token(ec, kid('e1')))).code).toBe(40103)
    expect(reads).toBeGreaterThanOrEqual(2)
  })

  it('are read again after an hour, so that a withdrawn key ends', async () => {
    serve(jwk(rsa, { kid: 'r1' }))
    await age(3000)
    expect((await exchange(token(ec, kid('e1')))).code).toBe(200)
    await age(3700)
    expect((await exchange(token(ec, kid('e1')))).code).toBe(40103)
    expect(reads).toBe(1)
  })

  it('are not tried without end: a token that matches many is checked with the first five', async () => {
    const pairs = Array.from({ length: 100 }, () => generateKeyPairSync('ec', { namedCurve: 'P-256' }))
    serve(...pairs.map((pair) => jwk(pair, { kid: 'same' })))
    expect((await put({ jwks_url: issuerUrl })).code).toBe(200)
    // They are not read again, however long this takes.
    await age(-3600)
    const { verify } = nodeCrypto
    let checks = 0
    const use = (value: unknown) => {
      Object.assign(nodeCrypto, { verify: value })
      syncBuiltinESMExports()
    }
    use((...args: Parameters<typeof verify>) => {
      checks++
      return verify(...args)
    })
    try {
      for (const given of [token(stranger, kid('same')), token(stranger), token(pairs[5]!, kid('same'))]) {
        checks = 0
        const { code, message } = await exchange(given)
        expect([code, message]).toEqual([
          40103,
          expect.stringContaining('matches 100 keys of the issuer, of which the first 5 were tried'),
        ])
        expect(checks).toBe(5)
      }
      expect((await exchange(token(pairs[4]!, kid('same')))).code).toBe(200)
    } finally {
      use(verify)
    }
  })

  it('are read by one of several processes; the others wait for it', async () => {
    serve(jwk(stranger, { kid: 'e2' }))
    await age(31)
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let began = () => {}
    const begun = new Promise<void>((resolve) => {
      began = resolve
    })
    const slow = createIdentities({
      db: api.context.db,
      log: api.context.log,
      readKeys: async (url) => {
        began()
        await released
        return readKeys(url)
      },
    })
    const reader = slow.usernameIn(api.appId, token(stranger, kid('e2')))
    await begun
    // Otherwise the reader would count as dead after three seconds, which a busy machine may need until the waiter asks.
    await pool().query(`UPDATE identity SET asked_at = now() + interval '1 hour'`)
    const waiter = createIdentities({ db: api.context.db, log: api.context.log, readKeys }).usernameIn(
      api.appId,
      token(stranger, kid('e2')),
    )
    release()
    expect(await Promise.all([reader, waiter])).toEqual(['carol', 'carol'])
    expect(reads).toBe(1)
  })
})
