import {
  createHash,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { isIP } from 'node:net'
import {
  bitString,
  explicitTag,
  implicitTag,
  octetString,
  oid,
  sequence,
  setOf,
  tag,
  time,
  unsigned,
  utf8,
  writeDer,
} from './der.ts'

/** A certificate and its key as PEM. */
type Issued = { cert: string; key: string }

type IssueOptions = {
  /** Names of the subject, e.g. { CN: 'localhost', UID: 'com.example.app' }. */
  subject: Partial<Record<keyof typeof nameOids, string>>
  /** Host names and IP addresses that it is valid for. */
  hosts?: string[]
  /** The vendor's own extensions: dotted OID and DER of the value. */
  extensions?: { oid: string; value: Buffer }[]
  notBefore?: Date
  notAfter?: Date
  /** The key of the certificate; by default a new P-256 key. */
  publicKey?: KeyObject
}

/** A temporary certificate authority for simulators and tests. With P-256 keys creating one takes about a millisecond. */
export type Authority = { cert: string; issue(options: IssueOptions): Issued }

const nameOids = {
  CN: '2.5.4.3',
  C: '2.5.4.6',
  O: '2.5.4.10',
  OU: '2.5.4.11',
  UID: '0.9.2342.19200300.100.1.1',
} as const

const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'))
const dayMs = 86_400_000

export function createAuthority(name: string, days = 3650): Authority {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = nameOf({ CN: name })
  const cert = signCertificate({
    issuer: subject,
    subject,
    publicKey,
    signer: privateKey,
    extensions: [
      extension('2.5.29.14', octetString(keyId(publicKey))),
      extension('2.5.29.19', sequence(writeDer(tag.boolean, Buffer.from([0xff]))), true),
      extension('2.5.29.15', writeDer(tag.bitString, Buffer.from([1, 0x06])), true),
    ],
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + days * dayMs),
  })
  return {
    cert,
    issue(options) {
      const pair = options.publicKey ? undefined : generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const issued = signCertificate({
        issuer: subject,
        subject: nameOf(options.subject),
        publicKey: options.publicKey ?? pair!.publicKey,
        signer: privateKey,
        extensions: [
          // Strict clients (Python 3.13's default) refuse a chain without key identifiers.
          extension('2.5.29.35', sequence(writeDer(implicitTag(0), keyId(publicKey)))),
          ...(options.hosts?.length ? [extension('2.5.29.17', alternativeNames(options.hosts))] : []),
          ...(options.extensions ?? []).map((one) => extension(one.oid, one.value)),
        ],
        notBefore: options.notBefore ?? new Date(Date.now() - dayMs),
        notAfter: options.notAfter ?? new Date(Date.now() + days * dayMs),
      })
      return {
        cert: issued,
        key: pair ? pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() : '',
      }
    },
  }
}

function signCertificate(parts: {
  issuer: Buffer
  subject: Buffer
  publicKey: KeyObject
  signer: KeyObject
  extensions: Buffer[]
  notBefore: Date
  notAfter: Date
}): string {
  const body = sequence(
    writeDer(explicitTag(0), unsigned(Buffer.from([2]))),
    unsigned(randomBytes(16)),
    ecdsaWithSha256,
    parts.issuer,
    sequence(time(parts.notBefore), time(parts.notAfter)),
    parts.subject,
    parts.publicKey.export({ type: 'spki', format: 'der' }),
    ...(parts.extensions.length > 0 ? [writeDer(explicitTag(3), sequence(...parts.extensions))] : []),
  )
  const signed = sequence(body, ecdsaWithSha256, bitString(sign('sha256', body, parts.signer)))
  return new X509Certificate(signed).toString()
}

function keyId(key: KeyObject): Buffer {
  return createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest()
}

function nameOf(subject: IssueOptions['subject']): Buffer {
  return sequence(
    ...Object.entries(subject).map(([name, value]) =>
      setOf(sequence(oid(nameOids[name as keyof typeof nameOids]), utf8(value))),
    ),
  )
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  const mark = critical ? [writeDer(tag.boolean, Buffer.from([0xff]))] : []
  return sequence(oid(id), ...mark, octetString(value))
}

function alternativeNames(hosts: string[]): Buffer {
  return sequence(
    ...hosts.map((host) =>
      isIP(host) === 4
        ? writeDer(implicitTag(7), Buffer.from(host.split('.').map(Number)))
        : writeDer(implicitTag(2), Buffer.from(host)),
    ),
  )
}
