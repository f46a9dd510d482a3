import { X509Certificate } from 'node:crypto'
import { createAuthority } from '@herald/simulators/authority'
import { octetString, oid, sequence, time, unsigned, utf8 } from '@herald/simulators/der'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { DerProblem, octets, oidText, readDer, smallInteger } from '../../src/shared/der.ts'

describe('DER', () => {
  it.each(['1.2.840.113635.100.6.3.6', '2.5.4.3', '0.9.2342.19200300.100.1.1', '2.16.840.1.101.3.4.1.42'])(
    'writes and reads the object identifier %s',
    (dotted) => {
      expect(oidText(readDer(oid(dotted)))).toBe(dotted)
    },
  )

  it('writes and reads values of any length', () => {
    for (const length of [0, 1, 127, 128, 255, 256, 70_000]) {
      const text = 'x'.repeat(length)
      expect(readDer(sequence(utf8(text))).children[0]!.value.toString()).toBe(text)
    }
  })

  it('keeps unsigned numbers positive', () => {
    expect(smallInteger(readDer(unsigned(Buffer.from([0x00, 0x00, 0xff]))))).toBe(255)
    expect(smallInteger(readDer(unsigned(Buffer.from([0]))))).toBe(0)
  })

  it('writes years from 2050 with four digits', () => {
    expect(readDer(time(new Date('2049-12-31T23:59:59Z'))).value.toString()).toBe('491231235959Z')
    expect(readDer(time(new Date('2050-01-01T00:00:00Z'))).value.toString()).toBe('20500101000000Z')
  })

  it('reads parts of indefinite length', () => {
    const pieces = Buffer.concat([
      Buffer.from([0x24, 0x80]),
      octetString(Buffer.from('ab')),
      octetString(Buffer.from('c')),
      Buffer.from([0, 0]),
    ])
    expect(octets(readDer(pieces)).toString()).toBe('abc')
  })

  it('throws only DerProblem for any other input', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          readDer(Buffer.from(bytes))
        } catch (error) {
          if (!(error instanceof DerProblem)) throw error
        }
      }),
      { numRuns: 2000 },
    )
    expect(() => readDer(Buffer.from('3080'.repeat(100), 'hex'))).toThrow(DerProblem)
  })
})

describe('a throw-away authority', () => {
  it('issues certificates that are good for their hosts and signed by it', () => {
    const authority = createAuthority('Test')
    const ca = new X509Certificate(authority.cert)
    const leaf = new X509Certificate(
      authority.issue({ subject: { CN: 'localhost' }, hosts: ['localhost', '127.0.0.1'] }).cert,
    )
    expect([ca.ca, leaf.ca]).toEqual([true, false])
    expect(leaf.checkIssued(ca) && leaf.verify(ca.publicKey)).toBe(true)
    expect([leaf.checkHost('localhost'), leaf.checkIP('127.0.0.1')]).toEqual(['localhost', '127.0.0.1'])
    expect(leaf.checkHost('example.com')).toBeUndefined()
  })
})
