import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** Encrypts secrets at rest with the master key (AES-256-GCM). The associated text ties a value to its row. */
export type Sealer = {
  seal(plain: string, boundTo: string): Buffer<ArrayBuffer>
  open(sealed: Uint8Array, boundTo: string): string
}

export class SealBroken extends Error {
  constructor() {
    super('A stored secret cannot be decrypted: HERALD_MASTER_KEY is not the key it was written with.')
  }
}

const VERSION = 1

export function createSealer(masterKey: Buffer): Sealer {
  return {
    seal(plain, boundTo) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', masterKey, nonce).setAAD(Buffer.from(boundTo))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.from([VERSION]), nonce, cipher.getAuthTag(), body])
    },
    open(sealed, boundTo) {
      const bytes = Buffer.from(sealed)
      if (bytes[0] !== VERSION || bytes.length < 29) throw new SealBroken()
      try {
        const decipher = createDecipheriv('aes-256-gcm', masterKey, bytes.subarray(1, 13))
          .setAAD(Buffer.from(boundTo))
          .setAuthTag(bytes.subarray(13, 29))
        return Buffer.concat([decipher.update(bytes.subarray(29)), decipher.final()]).toString('utf8')
      } catch {
        throw new SealBroken()
      }
    },
  }
}
