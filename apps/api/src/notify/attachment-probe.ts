import { lookup } from 'node:dns/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { isPublicAddress } from './public-address.ts'

/** Fetches a picture; returns what is wrong with it, or undefined. */
export type AttachmentProbe = (url: string) => Promise<string | undefined>

const LIMIT_MS = 3_000
const MAX_BYTES = 1024 * 1024
const MAX_REDIRECTS = 3

class Refused extends Error {}

/**
 * Callers choose the URL, so this must not reach internal addresses (SSRF): the name is resolved here, every result must
 * be public, and the connection goes to the address that was checked, even if the name resolves differently a moment later.
 */
export function createAttachmentProbe(
  options: {
    mayCall?: (address: string) => boolean
    limitMs?: number
    resolveName?: (host: string) => Promise<string[]>
  } = {},
): AttachmentProbe {
  const { mayCall = isPublicAddress, limitMs = LIMIT_MS, resolveName = addressesOf } = options

  async function resolve(host: string): Promise<string> {
    const bare = host.replace(/^\[|\]$/g, '')
    const addresses = isIP(bare) ? [bare] : await resolveName(bare)
    if (addresses.length === 0 || !addresses.every(mayCall))
      throw new Refused('must not point to a private address')
    return addresses[0]!
  }

  async function call(url: URL, method: 'HEAD' | 'GET', signal: AbortSignal): Promise<IncomingMessage> {
    const address = await resolve(url.hostname)
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest
    return new Promise((resolveCall, reject) => {
      const family = isIP(address)
      request(url, {
        method,
        signal,
        agent: false,
        headers: { accept: 'image/*' },
        lookup: (_host, lookupOptions, done) =>
          lookupOptions.all ? done(null, [{ address, family }]) : done(null, address, family),
      })
        .on('response', resolveCall)
        .on('error', reject)
        .end()
    })
  }

  async function follow(start: URL, method: 'HEAD' | 'GET', signal: AbortSignal): Promise<IncomingMessage> {
    let url = start
    for (let hops = 0; ; hops++) {
      const response = await call(url, method, signal)
      const { statusCode = 0, headers } = response
      if (statusCode < 300 || statusCode > 399 || headers.location === undefined) return response
      response.destroy()
      if (hops === MAX_REDIRECTS) throw new Refused('has too many redirects')
      url = new URL(headers.location, url)
      if (url.protocol !== 'http:' && url.protocol !== 'https:')
        throw new Refused('redirects to a protocol other than HTTP')
    }
  }

  async function probe(url: URL, signal: AbortSignal): Promise<string | undefined> {
    const head = await follow(url, 'HEAD', signal)
    head.destroy()
    const length = head.headers['content-length']
    if (head.statusCode === 200 && length !== undefined) return judge(Number(length))
    const get = await follow(url, 'GET', signal)
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
      if (error instanceof Refused) return error.message
      return signal.aborted ? `did not respond within ${limitMs / 1000} s` : 'cannot be fetched'
    }
  }
}

async function addressesOf(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

function judge(bytes: number): string | undefined {
  return bytes < MAX_BYTES ? undefined : 'must be a picture of less than 1 MB'
}
