import { createPrivateKey, type KeyObject } from 'node:crypto'
import { child, DerProblem, oidText, readDer, tag } from './der.ts'
import { type PemBlock, pemBlocks } from './pem.ts'

/** An RSA key of 8192 bits; every signature with a longer key would stop the process that sends. */
const maxBits = 8192
const maxBytes = 5 * 1024

const types = { 'PRIVATE KEY': 'pkcs8', 'RSA PRIVATE KEY': 'pkcs1', 'EC PRIVATE KEY': 'sec1' } as const
type KeyLabel = keyof typeof types

/** To read a key of another kind, OpenSSL may compute its public key first, which takes minutes for a DSA key made for it. */
const algorithms = ['1.2.840.113549.1.1.1', '1.2.840.10045.2.1']

export const isPrivateKey = ({ label }: PemBlock) => label.endsWith('PRIVATE KEY')

/** Reads the first private key of a PEM text, which must not be encrypted. Returns undefined if there is none or it cannot be read. */
export function tryPrivateKey(pem: string): KeyObject | undefined {
  try {
    const block = pemBlocks(pem).find(isPrivateKey)
    return block && parsePrivateKey(block.body, block.label)
  } catch {
    return undefined
  }
}

/**
 * The same for the key in a JSON file: files that went through an environment variable or a shell have the two characters \n in place
 * of line ends.
 */
export function tryPrivateKeyOfJson(pem: string): KeyObject | undefined {
  return tryPrivateKey(pem) ?? tryPrivateKey(pem.replaceAll('\\n', '\n'))
}

/**
 * Reads an RSA or EC key from the DER of a PEM block with this label. OpenSSL never gets a passphrase: it would run any number of
 * iterations that an encrypted key asks for. Throws.
 */
export function parsePrivateKey(key: Buffer, label: string): KeyObject {
  if (!Object.hasOwn(types, label)) throw new DerProblem('is of an unknown kind')
  if (key.length > maxBytes) throw new DerProblem('is too long')
  const type = types[label as KeyLabel]
  if (type === 'pkcs8') {
    const algorithm = oidText(child(child(readDer(key), 1, tag.sequence), 0, tag.oid))
    if (!algorithms.includes(algorithm)) throw new DerProblem('is neither an RSA nor an EC key')
  }
  const read = createPrivateKey({ key, format: 'der', type })
  if ((read.asymmetricKeyDetails?.modulusLength ?? 0) > maxBits) throw new DerProblem('is too long')
  return read
}
