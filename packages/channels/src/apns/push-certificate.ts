import { type KeyObject, X509Certificate } from 'node:crypto'
import { CertificateProblem } from '../channel.ts'
import { child, type DerNode, DerProblem, explicitTag, octets, oidText, readDer, tag } from '../shared/der.ts'
import { type PemBlock, pemBlocks } from '../shared/pem.ts'
import { isPrivateKey, parsePrivateKey } from '../shared/private-key.ts'
import {
  decrypt,
  decryptLegacyPem,
  type IterationBudget,
  iterationBudget,
  WrongPassphrase,
} from './password-encryption.ts'
import { readPkcs12 } from './pkcs12.ts'

/** A client certificate with its key, topics and environments. */
type PushCertificate = {
  /** PEM, leaf first. */
  cert: string
  key: string
  /** Topics from Apple's extension or the subject's UID; empty if there are none. */
  topics: string[]
  /** Environments from Apple's extensions; empty if there are none. */
  environments: ('production' | 'development')[]
  /** Unix ms. */
  expiresAt: number
}

/** Topics are compared with each other; a certificate from Apple has fewer than ten. */
const maxTopics = 100

/** Apple's extensions: one per environment, and the list of topics. */
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
    throw new CertificateProblem(
      'certificate contains a private key but no X.509 certificate: export both together, as .p12 or as PEM',
    )
  if (keys.length === 0)
    throw new CertificateProblem(
      'certificate contains no private key: export certificate and key together, as .p12 or as PEM',
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

function readMarks(leaf: X509Certificate): ReturnType<typeof readExtensions> {
  try {
    return readExtensions(leaf)
  } catch (error) {
    if (error instanceof DerProblem) throw unreadableCertificate()
    throw error
  }
}

const unreadableCertificate = () =>
  new CertificateProblem('certificate contains an X.509 certificate that cannot be read')

/** Reads the topics and environments of a certificate from Apple. */
function readExtensions(leaf: X509Certificate): Pick<PushCertificate, 'topics' | 'environments'> {
  const extensions = extensionsOf(leaf)
  const listed = extensions.get(pushOids.topics)
  // A flat list of topics, each followed by a list of its uses.
  const topics = listed
    ? readDer(listed)
        .children.filter((node) => node.tag === tag.utf8)
        .map((node) => node.value.toString('utf8'))
    : []
  if (topics.length > maxTopics)
    throw new CertificateProblem(`the certificate covers more than ${maxTopics} topics`)
  const uid = /^UID=(.+)$/m.exec(leaf.subject)?.[1]
  return {
    topics: topics.length > 0 ? topics : uid ? [uid] : [],
    environments: (['production', 'development'] as const).filter((name) => extensions.has(pushOids[name])),
  }
}

type Found = { certificates: X509Certificate[]; keys: KeyObject[] }

function readPem(text: string, passphrase: string): Found {
  const budget = iterationBudget()
  const blocks = pemBlocks(text)
  return {
    certificates: blocks
      .filter(({ label }) => label === 'CERTIFICATE')
      .map(({ body }) => parseCertificate(body)),
    keys: blocks.filter(isPrivateKey).map((block) => parseKey(() => readPemKey(block, passphrase, budget))),
  }
}

function readPemKey(block: PemBlock, passphrase: string, budget: IterationBudget): KeyObject {
  if (block.headers.has('DEK-Info')) return parsePrivateKey(decryptLegacyPem(block, passphrase), block.label)
  if (block.label !== 'ENCRYPTED PRIVATE KEY') return parsePrivateKey(block.body, block.label)
  const encrypted = readDer(block.body)
  const key = decrypt(child(encrypted, 0, tag.sequence), octets(child(encrypted, 1)), passphrase, budget)
  return parsePrivateKey(key, 'PRIVATE KEY')
}

function readBase64(text: string, passphrase: string): Found {
  const compact = text.replace(/\s+/g, '')
  const file = Buffer.from(compact, 'base64')
  // Every .p12 starts with a DER sequence.
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact) || file[0] !== 0x30)
    throw new CertificateProblem(
      'certificate is neither a .p8 key, nor PEM certificate and key, nor a base64 .p12 file',
    )
  try {
    const { certificates, keys } = readPkcs12(file, passphrase)
    return {
      certificates: certificates.map(parseCertificate),
      keys: keys.map((key) => parseKey(() => parsePrivateKey(key, 'PRIVATE KEY'))),
    }
  } catch (error) {
    if (error instanceof WrongPassphrase)
      throw new CertificateProblem('app_secret is not the passphrase of this .p12 file')
    if (error instanceof DerProblem)
      throw new CertificateProblem(`certificate is not a readable .p12 file: it ${error.message}`)
    throw error
  }
}

function parseCertificate(source: Buffer): X509Certificate {
  try {
    return new X509Certificate(source)
  } catch {
    throw unreadableCertificate()
  }
}

function parseKey(read: () => KeyObject): KeyObject {
  try {
    return read()
  } catch (error) {
    throw new CertificateProblem(
      error instanceof DerProblem
        ? `certificate contains a private key that ${error.message}`
        : 'certificate contains a private key that cannot be read: check that app_secret is its passphrase',
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
