import { createHmac, timingSafeEqual } from 'node:crypto'
import { child, type DerNode, DerProblem, octets, oidText, readDer, tag } from '../shared/der.ts'
import {
  bmpForms,
  decrypt,
  deriveKey,
  digestSizes,
  type IterationBudget,
  iterationBudget,
  positiveInteger,
  WrongPassphrase,
} from './password-encryption.ts'

/** Contents of a .p12: DER of the certificates and of the PKCS#8 private keys. */
type Pkcs12 = { certificates: Buffer[]; keys: Buffer[] }

/** A certificate, its key and a chain; every further one is one more for OpenSSL to read. */
const maxBags = 20

const ids = {
  data: '1.2.840.113549.1.7.1',
  encryptedData: '1.2.840.113549.1.7.6',
  keyBag: '1.2.840.113549.1.12.10.1.1',
  shroudedKeyBag: '1.2.840.113549.1.12.10.1.2',
  certBag: '1.2.840.113549.1.12.10.1.3',
} as const

const digests: Record<string, string> = {
  '1.3.14.3.2.26': 'sha1',
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
}

/**
 * Reads a .p12 (RFC 7292), including old Keychain exports: Node's OpenSSL refuses those, and does not return the contents of a
 * .p12. Throws WrongPassphrase, or DerProblem for an invalid file.
 */
export function readPkcs12(file: Buffer, passphrase: string, budget = iterationBudget()): Pkcs12 {
  const pfx = readDer(file)
  const content = octets(child(child(child(pfx, 1, tag.sequence), 1), 0))
  checkMac(pfx, content, passphrase, budget)
  const found: Pkcs12 = { certificates: [], keys: [] }
  for (const part of readDer(content).children) {
    for (const bag of readDer(openPart(part, passphrase, budget)).children) {
      collect(bag, passphrase, budget, found)
      if (found.certificates.length + found.keys.length > maxBags)
        throw new DerProblem('contains too many certificates and keys')
    }
  }
  return found
}

function openPart(part: DerNode, passphrase: string, budget: IterationBudget): Buffer {
  const type = oidText(child(part, 0, tag.oid))
  if (type === ids.data) return octets(child(child(part, 1), 0))
  if (type !== ids.encryptedData)
    throw new DerProblem('contains a part that is not encrypted with a passphrase')
  const info = child(child(child(part, 1), 0), 1, tag.sequence)
  return decrypt(child(info, 1, tag.sequence), octets(child(info, 2)), passphrase, budget)
}

function collect(bag: DerNode, passphrase: string, budget: IterationBudget, found: Pkcs12): void {
  const value = child(child(bag, 1), 0)
  switch (oidText(child(bag, 0, tag.oid))) {
    case ids.certBag:
      found.certificates.push(octets(child(child(value, 1), 0)))
      break
    case ids.keyBag:
      found.keys.push(value.raw)
      break
    case ids.shroudedKeyBag:
      found.keys.push(decrypt(child(value, 0, tag.sequence), octets(child(value, 1)), passphrase, budget))
      break
  }
}

function checkMac(pfx: DerNode, content: Buffer, passphrase: string, budget: IterationBudget): void {
  const mac = pfx.children[2]
  if (!mac) return
  const digestInfo = child(mac, 0, tag.sequence)
  const hash = digests[oidText(child(child(digestInfo, 0), 0, tag.oid))]
  // An unknown MAC algorithm: a wrong passphrase is detected when the parts are decrypted.
  if (!hash) return
  const expected = octets(child(digestInfo, 1))
  // The length of the key follows from that of the MAC, which the file chooses.
  const length = digestSizes[hash]!
  if (expected.length !== length) throw new DerProblem('has a MAC of the wrong length')
  const iterations = mac.children[2] ? positiveInteger(mac.children[2]) : 1
  const salt = octets(child(mac, 1))
  for (const password of bmpForms(passphrase)) {
    const key = deriveKey({ purpose: 3, password, salt, iterations, length, hash }, budget)
    if (timingSafeEqual(createHmac(hash, key).update(content).digest(), expected)) return
  }
  throw new WrongPassphrase()
}
