import { createDecipheriv, createHash, hash as digestOf, pbkdf2Sync, scryptSync } from 'node:crypto'
import { child, type DerNode, DerProblem, octets, oidText, smallInteger, tag } from '../shared/der.ts'
import type { PemBlock } from '../shared/pem.ts'
import { decryptRc2Cbc } from './rc2.ts'

export class WrongPassphrase extends Error {}

/** More iterations do not protect a file that is sent with its passphrase; they occupy the process that reads it. */
const maxIterations = 200_000

/** The iterations that all key derivations of one file may use together. */
export type IterationBudget = {
  /** Throws DerProblem, before anything is computed. */
  take(iterations: number): void
  left(): number
}

export function iterationBudget(): IterationBudget {
  let left = maxIterations
  return {
    take(iterations) {
      if (iterations > left)
        throw new DerProblem(
          `requires more than ${maxIterations.toLocaleString('en')} iterations to decrypt: export it again with fewer`,
        )
      left -= iterations
    },
    left: () => left,
  }
}

const ids = {
  pbes2: '1.2.840.113549.1.5.13',
  pbkdf2: '1.2.840.113549.1.5.12',
  scrypt: '1.3.6.1.4.1.11591.4.11',
} as const

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

/** Decrypts data as its AlgorithmIdentifier says. Throws WrongPassphrase, or DerProblem for an invalid file. */
export function decrypt(
  algorithm: DerNode,
  data: Buffer,
  passphrase: string,
  budget: IterationBudget,
): Buffer {
  const id = oidText(child(algorithm, 0, tag.oid))
  if (id !== ids.pbes2 && !oldSchemes[id]) throw new DerProblem(`uses an unknown cipher (${id})`)
  return withPassphrase(() =>
    id === ids.pbes2
      ? decryptPbes2(child(algorithm, 1), data, passphrase, budget)
      : decryptOld(oldSchemes[id]!, child(algorithm, 1), data, passphrase, budget),
  )
}

/** Decrypts a PEM block with a DEK-Info header, as OpenSSL wrote keys before version 1. One round of MD5, so nothing to bound. */
export function decryptLegacyPem({ headers, body }: PemBlock, passphrase: string): Buffer {
  const [name = '', hex = ''] = (headers.get('DEK-Info') ?? '').split(',')
  const cipher = Object.values(ciphers).find((known) => known.name === name.toLowerCase())
  if (!cipher) throw new DerProblem('uses an unknown cipher')
  const iv = Buffer.from(hex, 'hex')
  return withPassphrase(() => {
    let key = Buffer.alloc(0)
    for (let last = key; key.length < cipher.key; key = Buffer.concat([key, last]))
      last = createHash('md5').update(last).update(passphrase).update(iv.subarray(0, 8)).digest()
    return finish(cipher.name, key.subarray(0, cipher.key), iv, body)
  })
}

function withPassphrase(work: () => Buffer): Buffer {
  try {
    return work()
  } catch (error) {
    if (error instanceof DerProblem) throw error
    throw new WrongPassphrase()
  }
}

function decryptPbes2(
  parameters: DerNode,
  data: Buffer,
  passphrase: string,
  budget: IterationBudget,
): Buffer {
  const derivation = child(parameters, 0)
  const encryption = child(parameters, 1)
  const cipherId = oidText(child(encryption, 0, tag.oid))
  const cipher = ciphers[cipherId]
  const derive = derivations[oidText(child(derivation, 0, tag.oid))]
  if (!derive || !cipher) throw new DerProblem(`uses an unknown cipher (${cipherId})`)
  const key = derive(child(derivation, 1), passphrase, cipher.key, budget)
  return finish(cipher.name, key, octets(child(encryption, 1)), data)
}

type Derive = (settings: DerNode, passphrase: string, length: number, budget: IterationBudget) => Buffer

const derivations: Record<string, Derive> = {
  [ids.pbkdf2](settings, passphrase, length, budget) {
    const prf = settings.children.find((node) => node.tag === tag.sequence)
    const hash = prf ? hmacs[oidText(child(prf, 0, tag.oid))] : 'sha1'
    if (!hash) throw new DerProblem('uses an unknown key derivation')
    const iterations = positiveInteger(child(settings, 1))
    budget.take(iterations * Math.ceil(length / digestSizes[hash]!))
    return pbkdf2Sync(passphrase, octets(child(settings, 0)), iterations, length, hash)
  },
  [ids.scrypt](settings, passphrase, length, budget) {
    const [cost, blockSize, parallelization] = [1, 2, 3].map((at) => positiveInteger(child(settings, at)))
    budget.take(cost! * blockSize! * parallelization!)
    return scryptSync(passphrase, octets(child(settings, 0)), length, { cost, blockSize, parallelization })
  },
}

function decryptOld(
  scheme: (typeof oldSchemes)[string],
  parameters: DerNode,
  data: Buffer,
  passphrase: string,
  budget: IterationBudget,
): Buffer {
  const salt = octets(child(parameters, 0))
  const iterations = positiveInteger(child(parameters, 1))
  const [password] = bmpForms(passphrase)
  const derive = (purpose: 1 | 2, length: number) =>
    deriveKey({ purpose, password: password!, salt, iterations, length, hash: 'sha1' }, budget)
  const key = derive(1, scheme.key)
  const iv = derive(2, 8)
  if (scheme.cipher === 'rc2') return decryptRc2Cbc(key, iv, data)
  // Two-key triple DES uses the first key as the third.
  const whole = scheme.cipher === 'des-ede-cbc' ? Buffer.concat([key, key.subarray(0, 8)]) : key
  return finish('des-ede3-cbc', whole, iv, data)
}

function finish(cipher: string, key: Buffer, iv: Buffer, data: Buffer): Buffer {
  const decipher = createDecipheriv(cipher, key, iv)
  return Buffer.concat([decipher.update(data), decipher.final()])
}

/** A count that a file asks for. */
export function positiveInteger(node: DerNode): number {
  const count = smallInteger(node)
  if (count < 1) throw new DerProblem('has an invalid number of iterations')
  return count
}

/** UTF-16 big-endian with a terminating zero; an empty passphrase may also be encoded as zero bytes. */
export function bmpForms(passphrase: string): Buffer[] {
  const form = Buffer.from(`${passphrase}\0`, 'utf16le').swap16()
  return passphrase === '' ? [form, Buffer.alloc(0)] : [form]
}

export const digestSizes: Readonly<Record<string, number>> = { sha1: 20, sha256: 32, sha384: 48, sha512: 64 }

/** RFC 7292, appendix B.2. */
export function deriveKey(
  want: {
    purpose: 1 | 2 | 3
    password: Buffer
    salt: Buffer
    iterations: number
    length: number
    hash: string
  },
  budget: IterationBudget,
): Buffer {
  const block = want.hash === 'sha384' || want.hash === 'sha512' ? 128 : 64
  const stretch = (bytes: Buffer) =>
    bytes.length === 0 ? bytes : Buffer.alloc(Math.ceil(bytes.length / block) * block, bytes)
  const diversifier = Buffer.alloc(block, want.purpose)
  const input = Buffer.concat([stretch(want.salt), stretch(want.password)])
  // A long salt or passphrase costs as much as iterations do.
  const rounds = Math.ceil(want.length / digestSizes[want.hash]!)
  budget.take(rounds * (want.iterations + input.length / block))
  const made: Buffer[] = []
  for (let round = 0; round < rounds; round++) {
    let digest = digestOf(want.hash, Buffer.concat([diversifier, input]), 'buffer')
    for (let i = 1; i < want.iterations; i++) digest = digestOf(want.hash, digest, 'buffer')
    made.push(digest)
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
