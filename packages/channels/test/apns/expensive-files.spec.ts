import nodeCrypto, { type PrivateKeyInput, type ScryptOptions } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { explicitTag, octetString, oid, sequence, unsigned, writeDer } from '@herald/simulators/der'
import { beforeEach, describe, expect, it } from '@jest/globals'

/** Iterations of all key derivations since the start of a test. */
let iterations = 0
function count(more: number): void {
  iterations += more
  if (iterations > 300_000) throw new Error('too many iterations')
}

const crypto = { ...nodeCrypto }

// Counted instead of timed. Code that hands the passphrase to OpenSSL cannot be counted, so it fails.
Object.assign(nodeCrypto, {
  createHash: (name: string) => {
    count(1)
    return crypto.createHash(name)
  },
  hash: (name: string, data: Buffer, encoding: 'buffer') => {
    count(1)
    return crypto.hash(name, data, encoding)
  },
  pbkdf2Sync: (...args: Parameters<typeof crypto.pbkdf2Sync>) => {
    count(args[2])
    return crypto.pbkdf2Sync(...args)
  },
  scryptSync: (password: string, salt: Buffer, length: number, options: ScryptOptions) => {
    count(options.cost! * options.blockSize! * options.parallelization!)
    return crypto.scryptSync(password, salt, length, options)
  },
  createPrivateKey: (source: PrivateKeyInput) => {
    if (source.passphrase !== undefined) throw new Error('OpenSSL got the passphrase')
    return crypto.createPrivateKey(source)
  },
})
syncBuiltinESMExports()

const { adapters } = await import('../../src/all.ts')
const { CertificateProblem } = await import('../../src/channel.ts')
const { issuePushCertificate, newAppleAuthority, tokenCertificate } = await import('./credentials.ts')
const { sampleCertificate } = await import('../samples.ts')

beforeEach(() => {
  iterations = 0
})

const push = issuePushCertificate(newAppleAuthority())
const passphrase = 'parcel'
const read = (certificate: string, appSecret = passphrase) =>
  adapters.apns!.readSettings(tokenCertificate(certificate, { appKey: '', appSecret }))
const pem = (label: string, der: Buffer) =>
  `-----BEGIN ${label}-----\n${der.toString('base64')}\n-----END ${label}-----\n`

function problemOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (!(error instanceof CertificateProblem)) throw error
    return error.message
  }
  throw new Error('the file was accepted')
}

const integer = (value: number) => unsigned(Buffer.from(value.toString(16).padStart(10, '0'), 'hex'))
const ids = {
  data: oid('1.2.840.113549.1.7.1'),
  shroudedKeyBag: oid('1.2.840.113549.1.12.10.1.2'),
  sha1: oid('1.3.14.3.2.26'),
  aes256: oid('2.16.840.1.101.3.4.1.42'),
}
const salt = octetString(Buffer.alloc(8))

const pbkdf2 = (count: number) =>
  sequence(oid('1.2.840.113549.1.5.12'), sequence(salt, integer(count), sequence(oid('1.2.840.113549.2.9'))))
const scrypt = (cost: number, blockSize: number, parallel: number) =>
  sequence(
    oid('1.3.6.1.4.1.11591.4.11'),
    sequence(salt, integer(cost), integer(blockSize), integer(parallel)),
  )
const pbes2 = (derivation: Buffer) =>
  sequence(
    oid('1.2.840.113549.1.5.13'),
    sequence(derivation, sequence(ids.aes256, octetString(Buffer.alloc(16)))),
  )
/** RC2 with 40 bits, as in old .p12 files. */
const oldScheme = (count: number) => sequence(oid('1.2.840.113549.1.12.1.6'), sequence(salt, integer(count)))
/** An EncryptedPrivateKeyInfo. */
const encrypted = (algorithm: Buffer, data: Buffer = Buffer.alloc(64)) =>
  sequence(algorithm, octetString(data))

const keyDer = crypto.createPrivateKey(push.key).export({ type: 'pkcs8', format: 'der' })
function encryptedKey(derivation: Buffer, key: Buffer): Buffer {
  const cipher = crypto.createCipheriv('aes-256-cbc', key, Buffer.alloc(16))
  return encrypted(pbes2(derivation), Buffer.concat([cipher.update(keyDer), cipher.final()]))
}
/** The key of the certificate, readable with the passphrase. */
const readable = (count: number) =>
  encryptedKey(pbkdf2(count), crypto.pbkdf2Sync(passphrase, Buffer.alloc(8), count, 32, 'sha256'))

function pkcs12(keys: Buffer[], mac?: { length: number; iterations: number }): string {
  const bags = keys.map((key) => sequence(ids.shroudedKeyBag, writeDer(explicitTag(0), key)))
  const part = sequence(ids.data, writeDer(explicitTag(0), octetString(sequence(...bags))))
  const macData =
    mac &&
    sequence(
      sequence(sequence(ids.sha1), octetString(Buffer.alloc(mac.length))),
      salt,
      integer(mac.iterations),
    )
  const content = sequence(ids.data, writeDer(explicitTag(0), octetString(sequence(part))))
  return sequence(integer(3), content, ...(macData ? [macData] : [])).toString('base64')
}

describe('a .p12 that is expensive to read', () => {
  it('is refused if its MAC is longer than the digest, which would multiply the iterations', () => {
    const file = pkcs12([], { length: 23_000, iterations: 1_000_000 })
    expect(problemOf(() => read(file))).toMatch(/has a MAC of the wrong length/)
    expect(iterations).toBe(0)
  })

  it('is refused before the first iteration if the MAC needs too many', () => {
    const file = pkcs12([], { length: 20, iterations: 200_000 })
    expect(problemOf(() => read(file))).toMatch(/requires more than 200,000 iterations/)
    expect(iterations).toBe(0)
  })

  it('has one budget for both forms of an empty passphrase', () => {
    const file = pkcs12([], { length: 20, iterations: 120_000 })
    expect(problemOf(() => read(file, ''))).toMatch(/iterations/)
    expect(iterations).toBe(120_000)
  })

  it('has one budget for all its parts', () => {
    expect(problemOf(() => read(pkcs12([readable(80_000), readable(80_000), readable(80_000)])))).toMatch(
      /iterations/,
    )
    expect(iterations).toBe(160_000)
  })

  it('pays for a long passphrase as for iterations', () => {
    expect(problemOf(() => read(pkcs12([encrypted(oldScheme(1))]), 'x'.repeat(7_000_000)))).toMatch(
      /iterations/,
    )
    expect(iterations).toBe(0)
  })

  it('is refused with more certificates and keys than a chain has', () => {
    expect(problemOf(() => read(pkcs12(Array.from({ length: 21 }, () => readable(1)))))).toMatch(/too many/)
  })
})

describe('a PEM key that is expensive to read', () => {
  const withKeys = (...keys: Buffer[]) =>
    push.cert + keys.map((key) => pem('ENCRYPTED PRIVATE KEY', key)).join('')

  it.each([
    ['PBKDF2', pbes2(pbkdf2(2 ** 31 - 1))],
    ['scrypt with a high cost', pbes2(scrypt(2 ** 20, 8, 1))],
    ['scrypt with many lanes', pbes2(scrypt(2, 1, 2 ** 17))],
    ['a scheme of old .p12 files', oldScheme(2 ** 31 - 1)],
  ])('is refused: %s', (_name, algorithm) => {
    expect(problemOf(() => read(withKeys(encrypted(algorithm))))).toMatch(
      /^certificate contains a private key that requires more than 200,000 iterations/,
    )
    expect(iterations).toBe(0)
  })

  it('shares one budget with the other keys of the text', () => {
    expect(problemOf(() => read(withKeys(readable(80_000), readable(80_000), readable(80_000))))).toMatch(
      /iterations/,
    )
    expect(iterations).toBe(160_000)
  })

  it('is refused if OpenSSL must compute with it: a DSA key, an RSA key of more than 8192 bits', () => {
    const { privateKey } = crypto.generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 })
    const dsa = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    expect(problemOf(() => read(push.cert + dsa))).toMatch(/neither an RSA nor an EC key/)
    const n = unsigned(Buffer.alloc(1025, 0xff))
    const small = integer(3)
    const rsa = pem(
      'RSA PRIVATE KEY',
      sequence(integer(0), n, small, small, small, small, small, small, small),
    )
    expect(problemOf(() => read(push.cert + rsa))).toMatch(/is too long/)
    const account = JSON.stringify({
      type: 'service_account',
      client_email: 'a@example.com',
      project_id: 'p',
      private_key: rsa,
    })
    expect(
      problemOf(() => adapters.fcm!.readSettings(sampleCertificate('fcm', { certificate: account }))),
    ).toMatch(/cannot be read/)
    const huawei = JSON.stringify({ project_id: 'p', key_id: 'k', sub_account: 's', private_key: rsa })
    expect(
      problemOf(() => adapters.huawei!.readSettings(sampleCertificate('huawei', { certificate: huawei }))),
    ).toMatch(/not a PEM private key/)
  })

  it('is one of at most twenty blocks', () => {
    const text = push.cert + push.key.repeat(18) + pem('ENCRYPTED PRIVATE KEY', encrypted(pbes2(pbkdf2(5))))
    expect(problemOf(() => read(text))).toMatch(/passphrase/)
    expect(read(push.cert + push.key.repeat(19) + text)).toMatchObject({ auth: { kind: 'certificate' } })
  })
})

describe('a usual encrypted key', () => {
  it.each([
    ['PBKDF2 with 2048 iterations', () => pem('ENCRYPTED PRIVATE KEY', readable(2048))],
    [
      'scrypt as OpenSSL uses it',
      () =>
        pem(
          'ENCRYPTED PRIVATE KEY',
          encryptedKey(scrypt(16_384, 8, 1), crypto.scryptSync(passphrase, Buffer.alloc(8), 32)),
        ),
    ],
    [
      'the header DEK-Info',
      () =>
        crypto
          .createPrivateKey(push.key)
          .export({ type: 'sec1', format: 'pem', cipher: 'aes-256-cbc', passphrase })
          .toString(),
    ],
  ])('is read: %s', (_name, key) => {
    expect(read(push.cert + key())).toMatchObject({ auth: { kind: 'certificate' } })
    expect(problemOf(() => read(push.cert + key(), 'wrong'))).toMatch(/check that app_secret/)
  })
})
