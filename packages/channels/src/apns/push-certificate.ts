import { createPrivateKey, X509Certificate } from 'node:crypto'
import { CertificateProblem } from '../channel.ts'
import { child, type DerNode, DerProblem, explicitTag, octets, oidText, readDer, tag } from '../shared/der.ts'
import { readPkcs12, WrongPassphrase } from './pkcs12.ts'

/** A client certificate with its key, and what Apple wrote into it. */
type PushCertificate = {
  /** PEM, leaf first. */
  cert: string
  key: string
  /** Topics it may push to, from Apple's extension or the subject's UID; empty when it names none. */
  topics: string[]
  /** Environments it is marked for; empty when it carries no mark. */
  environments: ('production' | 'development')[]
  /** Unix ms. */
  expiresAt: number
}

/** Apple's extensions: marks of the environments, and the list of topics. */
const pushOids = {
  development: '1.2.840.113635.100.6.3.1',
  production: '1.2.840.113635.100.6.3.2',
  topics: '1.2.840.113635.100.6.3.6',
} as const

/** Reads PEM certificate + key, or a base64 .p12. Throws CertificateProblem. */
export function readPushCertificate(text: string, passphrase: string): PushCertificate {
  const { certificates, keys } = text.includes('-----BEGIN')
    ? readPem(text, passphrase)
    : readBase64(text, passphrase)
  if (certificates.length === 0)
    throw new CertificateProblem('certificate holds no X.509 certificate beside the private key')
  if (keys.length === 0)
    throw new CertificateProblem(
      'certificate holds no private key: export certificate and key together, as .p12 or as PEM',
    )
  for (const key of keys) {
    const leaf = certificates.find((one) => one.checkPrivateKey(key))
    if (!leaf) continue
    const chain = [leaf, ...certificates.filter((one) => one !== leaf)]
    return {
      cert: chain.map((one) => one.toString()).join(''),
      key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
      expiresAt: leaf.validToDate.getTime(),
      ...readMarks(leaf),
    }
  }
  throw new CertificateProblem('the private key does not belong to the certificate')
}

/** Topics and environments as Apple wrote them into a certificate. */
export function readMarks(leaf: X509Certificate): Pick<PushCertificate, 'topics' | 'environments'> {
  const extensions = extensionsOf(leaf)
  const listed = extensions.get(pushOids.topics)
  // A flat list: topic, then a list of what it is for, and so on.
  const topics = listed
    ? readDer(listed)
        .children.filter((node) => node.tag === tag.utf8)
        .map((node) => node.value.toString('utf8'))
    : []
  const uid = /^UID=(.+)$/m.exec(leaf.subject)?.[1]
  return {
    topics: topics.length > 0 ? topics : uid ? [uid] : [],
    environments: (['production', 'development'] as const).filter((name) => extensions.has(pushOids[name])),
  }
}

type Found = { certificates: X509Certificate[]; keys: ReturnType<typeof createPrivateKey>[] }

function readPem(text: string, passphrase: string): Found {
  const found: Found = { certificates: [], keys: [] }
  for (const [block, label] of text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----/g)) {
    if (label === 'CERTIFICATE') found.certificates.push(parseCertificate(block))
    else if (label!.endsWith('PRIVATE KEY'))
      found.keys.push(parseKey({ key: block, passphrase: passphrase || undefined }))
  }
  return found
}

function readBase64(text: string, passphrase: string): Found {
  const compact = text.replace(/\s+/g, '')
  const file = Buffer.from(compact, 'base64')
  // DER of any .p12 begins with a sequence.
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact) || file[0] !== 0x30)
    throw new CertificateProblem(
      'certificate is neither a .p8 key, nor PEM certificate and key, nor a base64 .p12 file',
    )
  try {
    const { certificates, keys } = readPkcs12(file, passphrase)
    return {
      certificates: certificates.map(parseCertificate),
      keys: keys.map((key) => parseKey({ key, format: 'der', type: 'pkcs8' })),
    }
  } catch (error) {
    if (error instanceof WrongPassphrase)
      throw new CertificateProblem('app_secret is not the passphrase of this .p12 file')
    if (error instanceof DerProblem)
      throw new CertificateProblem(`certificate is no readable .p12 file: it ${error.message}`)
    throw error
  }
}

function parseCertificate(source: string | Buffer): X509Certificate {
  try {
    return new X509Certificate(source)
  } catch {
    throw new CertificateProblem('certificate holds an X.509 certificate that cannot be read')
  }
}

function parseKey(source: Parameters<typeof createPrivateKey>[0]) {
  try {
    return createPrivateKey(source)
  } catch {
    throw new CertificateProblem(
      'certificate holds a private key that cannot be read: is app_secret its passphrase?',
    )
  }
}

function extensionsOf(certificate: X509Certificate): Map<string, Buffer> {
  const body = child(readDer(certificate.raw), 0)
  const list = body.children.find((node: DerNode) => node.tag === explicitTag(3))
  const found = new Map<string, Buffer>()
  for (const extension of list ? child(list, 0).children : [])
    found.set(oidText(child(extension, 0, tag.oid)), octets(extension.children.at(-1)!))
  return found
}
