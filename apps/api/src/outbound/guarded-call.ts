import { lookup } from 'node:dns/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { isPublicAddress } from './public-address.ts'

/** An address that may not be called. The message is the second half of a sentence. */
export class CallRefused extends Error {}

export type GuardOptions = {
  mayCall?: (address: string) => boolean
  resolveName?: (host: string) => Promise<string[]>
}

/** Calls a URL and follows redirects. The caller must read or destroy the response. Throws CallRefused. */
export type GuardedCall = (
  url: URL,
  options: { method: 'HEAD' | 'GET'; accept: string; signal: AbortSignal },
) => Promise<IncomingMessage>

const MAX_REDIRECTS = 3

/**
 * For URLs that callers choose, which must not reach internal addresses (SSRF): the name is resolved here, every result must be
 * public, and the connection goes to the address that was checked, even if the name resolves differently a moment later. The same
 * holds for each redirect. `protocols` are those that may be called, also by a redirect.
 */
export function createGuardedCall(
  protocols: readonly ('http:' | 'https:')[],
  { mayCall = isPublicAddress, resolveName = addressesOf }: GuardOptions = {},
): GuardedCall {
  async function resolve(host: string, signal: AbortSignal): Promise<string> {
    const bare = host.replace(/^\[|\]$/g, '')
    const addresses = isIP(bare) ? [bare] : await untilAborted(resolveName(bare), signal)
    if (addresses.length === 0 || !addresses.every(mayCall))
      throw new CallRefused('must not point to a private address')
    return addresses[0]!
  }

  async function callOnce(
    url: URL,
    { method, accept, signal }: Parameters<GuardedCall>[1],
  ): Promise<IncomingMessage> {
    const address = await resolve(url.hostname, signal)
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest
    return new Promise((resolveCall, reject) => {
      const family = isIP(address)
      request(url, {
        method,
        signal,
        agent: false,
        headers: { accept },
        lookup: (_host, lookupOptions, done) =>
          lookupOptions.all ? done(null, [{ address, family }]) : done(null, address, family),
      })
        .on('response', resolveCall)
        .on('error', reject)
        .end()
    })
  }

  return async (start, options) => {
    let url = start
    for (let hops = 0; ; hops++) {
      if (!(protocols as readonly string[]).includes(url.protocol))
        throw new CallRefused(
          hops === 0
            ? `must begin with ${protocols.map((name) => `${name}//`).join(' or ')}`
            : `redirects to a protocol other than ${protocols.includes('http:') ? 'HTTP' : 'HTTPS'}`,
        )
      const response = await callOnce(url, options)
      const { statusCode = 0, headers } = response
      if (statusCode < 300 || statusCode > 399 || headers.location === undefined) return response
      response.destroy()
      if (hops === MAX_REDIRECTS) throw new CallRefused('has too many redirects')
      url = new URL(headers.location, url)
    }
  }
}

async function addressesOf(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

/** A resolver may take longer than the whole call is allowed to. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let onAbort = () => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
    // It may still fail after the race.
    work.catch(() => {})
  }
}
