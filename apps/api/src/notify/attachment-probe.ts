import { CallRefused, createGuardedCall, type GuardOptions } from '@herald/outbound'

/** Fetches a picture; returns what is wrong with it, or undefined. */
export type AttachmentProbe = (url: string) => Promise<string | undefined>

const LIMIT_MS = 3_000
const MAX_BYTES = 1024 * 1024

export function createAttachmentProbe(options: GuardOptions & { limitMs?: number } = {}): AttachmentProbe {
  const { limitMs = LIMIT_MS, ...guard } = options
  const call = createGuardedCall(['http:', 'https:'], guard)

  async function probe(url: URL, signal: AbortSignal): Promise<string | undefined> {
    const accept = 'image/*'
    const head = await call(url, { method: 'HEAD', accept, signal })
    head.destroy()
    const length = head.headers['content-length']
    if (head.statusCode === 200 && length !== undefined) return judge(Number(length))
    const get = await call(url, { method: 'GET', accept, signal })
    try {
      if (get.statusCode !== 200) return `responds with status ${get.statusCode}`
      let size = 0
      for await (const chunk of get) {
        size += (chunk as Buffer).length
        if (size >= MAX_BYTES) break
      }
      return judge(size)
    } finally {
      get.destroy()
    }
  }

  return async (url) => {
    const signal = AbortSignal.timeout(limitMs)
    try {
      return await probe(new URL(url), signal)
    } catch (error) {
      if (error instanceof CallRefused) return error.message
      return signal.aborted ? `did not respond within ${limitMs / 1000} s` : 'cannot be fetched'
    }
  }
}

function judge(bytes: number): string | undefined {
  return bytes < MAX_BYTES ? undefined : 'must be a picture of less than 1 MB'
}
