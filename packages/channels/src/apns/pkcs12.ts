import { createDecipheriv, createHash, createHmac, pbkdf2Sync, timingSafeEqual } from 'node:crypto'
import {
  child,
  type DerNode,
  DerProblem,
  octets,
  oidText,
  readDer,
  smallInteger,
  tag,
} from '../shared/der.ts'
import { decryptRc2Cbc } from './rc2.ts'

/** What a .p12 holds: DER of the certificates and of the PKCS#8 private keys. */
type Pkcs12 = { certificates: Buffer[]; keys: Buffer[] }

export class WrongPassphrase extends Error {}

/** Iterations above this are an attack on the process that reads the file, not a protection of it. */
const mostIterations = 1_000_000

const ids = {
  data: '1.2.840.113549.1.7.1',
  encryptedData: '1.2.840.113549.1.7.6',
  keyBag: '1.2.840.113549.1.12.10.1.1',
  shroudedKeyBag: '1.2.840.113549.1.12.10.1.2',
  certBag: '1.2.840.113549.1.12.10.1.3',
  pbes2: '1.2.840.113549.1.5.13',
  pbkdf2: '1.2.840.113549.1.5.12',
} as const

const digests: Record<string, string> = {
  '1.3.14.3.2.26': 'sha1',
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
}

const hmacs: Record<string, string> = {
  '1.2.840.113549.2.7': 'sha1',
  '1.2.840.113549.2.9': 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
}

const ciphers: Record<string, { name: string; key: number }> = {
  '1.2.840.113549.3.7': { name: 'des-ede3-cbc', key: 24 },
  '2.16.840.1.101.3.4.1.2': { name: 'aes-128-cbc', key: 16 },
  '2.16.840.1.101.3.4.1.22': { name: 'aes-192-cbc', key: 24 },
  '2.16.840.1.101.3.4.1.42': { name: 'aes-256-cbc', key: 32 },
}

/** RFC 7292, appendix C: key lengths of the old schemes. */
const oldSchemes: Record<string, { cipher: 'rc2' | 'des-ede3-cbc' | 'des-ede-cbc'; key: number }> = {
  '1.2.840.113549.1.12.1.3': { cipher: 'des-ede3-cbc', key: 24 },
  '1.2.840.113549.1.12.1.4': { cipher: 'des-ede-cbc', key: 16 },
  '1.2.840.113549.1.12.1.5': { cipher: 'rc2', key: 16 },
  '1.2.840.113549.1.12.1.6': { cipher: 'rc2', key: 5 },
}

/**
 * Opens a .p12 (RFC 7292), old Keychain exports included: the OpenSSL inside Node refuses those, and gives nothing of a .p12
 * back to look at. Throws WrongPassphrase, or DerProblem for a file that is none.
 */
export function readPkcs12(file: Buffer, passphrase: string): Pkcs12 {
  const pfx = readDer(file)
  const content = octets(child(child(child(pfx, 1, tag.sequence), 1), 0))
  checkMac(pfx, content, passphrase)
  const found: Pkcs12 = { certificates: [], keys: [] }
  for (const part of readDer(content).children) collectBags(openPart(part, passphrase), passphrase, found)
  return found
}

function openPart(part: DerNode, passphrase: string): Buffer {
  const type = oidText(child(part, 0, tag.oid))
  if (type === ids.data) return octets(child(child(part, 1), 0))
  if (type !== ids.encryptedData) throw new DerProblem('holds a part that a passphrase does not open')
  const info = child(child(child(part, 1), 0), 1, tag.sequence)
  return decrypt(child(info, 1, tag.sequence), octets(child(info, 2)), passphrase)
}

function collectBags(contents: Buffer, passphrase: string, found: Pkcs12): void {
  for (const bag of readDer(contents).children) {
    const value = child(child(bag, 1), 0)
    switch (oidText(child(bag, 0, tag.oid))) {
      case ids.certBag:
        found.certificates.push(octets(child(child(value, 1), 0)))
        break
      case ids.keyBag:
        found.keys.push(value.raw)
        break
      case ids.shroudedKeyBag:
        found.keys.push(decrypt(child(value, 0, tag.sequence), octets(child(value, 1)), passphrase))
        break
    }
  }
}

function checkMac(pfx: DerNode, content: Buffer, passphrase: string): void {
  const mac = pfx.children[2]
  if (!mac) return
  const digestInfo = child(mac, 0, tag.sequence)
  const hash = digests[oidText(child(child(digestInfo, 0), 0, tag.oid))]
  // A newer kind of seal; a wrong passphrase then shows when the parts do not open.
  if (!hash) return
  const expected = octets(child(digestInfo, 1))
  const iterations = mac.children[2] ? boundedIterations(mac.children[2]) : 1
  const salt = octets(child(mac, 1))
  for (const password of bmpForms(passphrase)) {
    const key = deriveKey({ purpose: 3, password, salt, iterations, length: expected.length, hash })
    const actual = createHmac(hash, key).update(content).digest()
    if (actual.length === expected.length && timingSafeEqual(actual, expected)) return
  }
  throw new WrongPassphrase()
}

function decrypt(algorithm: DerNode, data: Buffer, passphrase: string): Buffer {
  const id = oidText(child(algorithm, 0, tag.oid))
  if (id !== ids.pbes2 && !oldSchemes[id]) throw new DerProblem(`is under an unknown cipher (${id})`)
  try {
    return id === ids.pbes2
      ? decryptPbes2(child(algorithm, 1), data, passphrase)
      : decryptOld(oldSchemes[id]!, child(algorithm, 1), data, passphrase)
  } catch (error) {
    if (error instanceof DerProblem) throw error
    throw new WrongPassphrase()
  }
}

function decryptPbes2(parameters: DerNode, data: Buffer, passphrase: string): Buffer {
  const derivation = child(parameters, 0)
  const encryption = child(parameters, 1)
  const cipherId = oidText(child(encryption, 0, tag.oid))
  const cipher = ciphers[cipherId]
  if (oidText(child(derivation, 0, tag.oid)) !== ids.pbkdf2 || !cipher)
    throw new DerProblem(`is under an unknown cipher (${cipherId})`)
  const settings = child(derivation, 1)
  const prf = settings.children.find((node) => node.tag === tag.sequence)
  const hash = prf ? hmacs[oidText(child(prf, 0, tag.oid))] : 'sha1'
  if (!hash) throw new DerProblem('is under an unknown key derivation')
  const iterations = boundedIterations(child(settings, 1))
  const key = pbkdf2Sync(passphrase, octets(child(settings, 0)), iterations, cipher.key, hash)
  return finish(cipher.name, key, octets(child(encryption, 1)), data)
}

function decryptOld(
  scheme: (typeof oldSchemes)[string],
  parameters: DerNode,
  data: Buffer,
  passphrase: string,
): Buffer {
  const salt = octets(child(parameters, 0))
  const iterations = boundedIterations(child(parameters, 1))
  const [password] = bmpForms(passphrase)
  const derive = (purpose: 1 | 2, length: number) =>
    deriveKey({ purpose, password: password!, salt, iterations, length, hash: 'sha1' })
  const key = derive(1, scheme.key)
  const iv = derive(2, 8)
  if (scheme.cipher === 'rc2') return decryptRc2Cbc(key, iv, data)
  // Two-key triple DES uses its first key again as the third.
  const whole = scheme.cipher === 'des-ede-cbc' ? Buffer.concat([key, key.subarray(0, 8)]) : key
  return finish('des-ede3-cbc', whole, iv, data)
}

function finish(cipher: string, key: Buffer, iv: Buffer, data: Buffer): Buffer {
  const decipher = createDecipheriv(cipher, key, iv)
  return Buffer.concat([decipher.update(data), decipher.final()])
}

function boundedIterations(node: DerNode): number {
  const iterations = smallInteger(node)
  if (iterations < 1 || iterations > mostIterations) throw new DerProblem('asks for too many iterations')
  return iterations
}

/** UTF-16 big-endian with its closing zero; an empty passphrase is also written as nothing at all. */
function bmpForms(passphrase: string): Buffer[] {
  const form = Buffer.from(`${passphrase}\0`, 'utf16le').swap16()
  return passphrase === '' ? [form, Buffer.alloc(0)] : [form]
}

/** RFC 7292, appendix B.2. */
function deriveKey(want: {
  purpose: 1 | 2 | 3
  password: Buffer
  salt: Buffer
  iterations: number
  length: number
  hash: string
}): Buffer {
  const block = want.hash === 'sha384' || want.hash === 'sha512' ? 128 : 64
  const stretch = (bytes: Buffer) =>
    bytes.length === 0 ? bytes : Buffer.alloc(Math.ceil(bytes.length / block) * block, bytes)
  const diversifier = Buffer.alloc(block, want.purpose)
  const input = Buffer.concat([stretch(want.salt), stretch(want.password)])
  const made: Buffer[] = []
  for (let length = 0; length < want.length; ) {
    let digest = createHash(want.hash).update(diversifier).update(input).digest()
    for (let i = 1; i < want.iterations; i++) digest = createHash(want.hash).update(digest).digest()
    made.push(digest)
    length += digest.length
    const addend = stretch(digest).subarray(0, block)
    for (let at = 0; at < input.length; at += block) addOne(input.subarray(at, at + block), addend)
  }
  return Buffer.concat(made).subarray(0, want.length)
}

/** block = block + addend + 1, modulo 2^(8 · length). */
function addOne(block: Buffer, addend: Buffer): void {
  let carry = 1
  for (let i = block.length - 1; i >= 0; i--) {
    carry += block[i]! + addend[i]!
    block[i] = carry & 0xff
    carry >>= 8
  }
}
