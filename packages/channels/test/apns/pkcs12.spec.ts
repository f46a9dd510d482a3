import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { adapter as apns } from '../../src/apns/channel.ts'
import { WrongPassphrase } from '../../src/apns/password-encryption.ts'
import { readPkcs12 } from '../../src/apns/pkcs12.ts'
import { CertificateProblem } from '../../src/channel.ts'
import { tokenCertificate } from './credentials.ts'

const fixture = (name: string) =>
  Buffer.from(readFileSync(new URL(`./fixtures/${name}.p12.txt`, import.meta.url), 'utf8'), 'base64')

describe('a .p12 file', () => {
  it('gives its certificates and keys', () => {
    const { certificates, keys } = readPkcs12(fixture('keychain'), 'parcel')
    expect([certificates.length, keys.length]).toEqual([2, 1])
    expect(readPkcs12(fixture('modern'), 'parcel').keys[0]).toEqual(keys[0])
    expect(readPkcs12(fixture('no-key'), 'parcel').keys).toEqual([])
  })

  it('can be read with its passphrase only', () => {
    for (const name of ['keychain', 'modern'])
      for (const passphrase of ['', 'Parcel', 'parcel ', 'пароль'])
        expect(() => readPkcs12(fixture(name), passphrase)).toThrow(WrongPassphrase)
  })

  it('that is damaged leads to a certificate problem, never a crash', () => {
    const file = fixture('modern')
    fc.assert(
      fc.property(
        fc.nat(file.length - 1),
        fc.integer({ min: 1, max: 255 }),
        fc.nat(file.length),
        (at, by, length) => {
          const damaged = Buffer.from(file.subarray(0, Math.max(at + 1, length)))
          damaged[at]! ^= by
          damaged[0] = 0x30
          try {
            apns.readSettings(
              tokenCertificate(damaged.toString('base64'), { appId: '', appKey: '', appSecret: 'parcel' }),
            )
          } catch (error) {
            if (!(error instanceof CertificateProblem)) throw error
          }
        },
      ),
      { numRuns: 300 },
    )
  })
})
