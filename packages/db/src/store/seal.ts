import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** Encrypts stored secrets with the master key (AES-256-GCM). A value opens only with the `boundTo` of its own row. */
export type Sealer = {
  seal(plain: string, boundTo: string): Buffer<ArrayBuffer>
  /** Throws SealBroken if no key opens it. */
  open(sealed: Uint8Array, boundTo: string): string
  /** Undefined if no key opens it. */
  tryOpen(sealed: Uint8Array, boundTo: string): string | undefined
  /** Whether it was sealed with the current key. */
  isCurrent(sealed: Uint8Array, boundTo: string): boolean
}

export class SealBroken extends Error {
  constructor() {
    super('A stored secret cannot be decrypted: HERALD_MASTER_KEY is not the key it was written with.')
  }
}

const VERSION = 1

/** `others` are only used to open: the previous or the next key during a rotation. */
export function createSealer(masterKey: Buffer, others: readonly Buffer[] = []): Sealer {
  const keys = [masterKey, ...others]
  function tryOpen(sealed: Uint8Array, boundTo: string): string | undefined {
    for (const key of keys) {
      const plain = openWith(key, sealed, boundTo)
      if (plain !== undefined) return plain
    }
    return undefined
  }
  return {
    seal(plain, boundTo) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', masterKey, nonce).setAAD(Buffer.from(boundTo))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.from([VERSION]), nonce, cipher.getAuthTag(), body])
    },
    open(sealed, boundTo) {
      const plain = tryOpen(sealed, boundTo)
      if (plain === undefined) throw new SealBroken()
      return plain
    },
    tryOpen,
    isCurrent: (sealed, boundTo) => openWith(masterKey, sealed, boundTo) !== undefined,
  }
}

/** Undefined if the key or the row is another, or the bytes were changed; the tag does not tell which. */
function openWith(key: Buffer, sealed: Uint8Array, boundTo: string): string | undefined {
  const bytes = Buffer.from(sealed)
  if (bytes[0] !== VERSION || bytes.length < 29) return undefined
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(1, 13))
      .setAAD(Buffer.from(boundTo))
      .setAuthTag(bytes.subarray(13, 29))
    return Buffer.concat([decipher.update(bytes.subarray(29)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}
