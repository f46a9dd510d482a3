import type { StoredKey } from '@herald/db/tenants'
import { CallRefused, createGuardedCall, type GuardOptions } from '@herald/outbound'
import { KeyProblem, readKeySet } from './verification-keys.ts'

/** Reads the keys at an address. Throws KeyProblem with the second half of a sentence. */
export type KeySetReader = (url: string) => Promise<StoredKey[]>

export type KeySetReaderOptions = GuardOptions & {
  limitMs?: number
  /** Default: https only, because a host between Herald and the issuer could replace the keys and sign in as anybody. */
  protocols?: readonly ('http:' | 'https:')[]
}

export const KEY_READ_MS = 3_000
const MAX_BYTES = 128 * 1024

export function createKeySetReader(options: KeySetReaderOptions = {}): KeySetReader {
  const { limitMs = KEY_READ_MS, protocols = ['https:'], ...guard } = options
  const call = createGuardedCall(protocols, guard)

  async function read(url: string, signal: AbortSignal): Promise<string> {
    const response = await call(new URL(url), { method: 'GET', accept: 'application/json', signal })
    try {
      if (response.statusCode !== 200) throw new KeyProblem(`responds with status ${response.statusCode}`)
      const chunks: Buffer[] = []
      let size = 0
      for await (const chunk of response) {
        size += (chunk as Buffer).length
        if (size > MAX_BYTES) throw new KeyProblem(`responds with more than ${MAX_BYTES / 1024} KiB`)
        chunks.push(chunk as Buffer)
      }
      return Buffer.concat(chunks).toString()
    } finally {
      response.destroy()
    }
  }

  return async (url) => {
    const signal = AbortSignal.timeout(limitMs)
    let text: string
    try {
      text = await read(url, signal)
    } catch (error) {
      if (error instanceof KeyProblem) throw error
      if (error instanceof CallRefused) throw new KeyProblem(error.message)
      throw new KeyProblem(signal.aborted ? `did not answer within ${limitMs / 1000} s` : 'cannot be read')
    }
    return readKeySet(text)
  }
}
