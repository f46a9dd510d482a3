import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { CallRefused, checkAddress, connectTo, type GuardOptions } from './check-address.ts'

/** Calls a URL and follows redirects. The caller must read or destroy the response. Throws CallRefused. */
export type GuardedCall = (
  url: URL,
  options: { method: 'HEAD' | 'GET'; accept: string; signal: AbortSignal },
) => Promise<IncomingMessage>

const MAX_REDIRECTS = 3

/**
 * For URLs that callers choose, which must not reach internal addresses (SSRF): the connection goes to an address that was checked. The
 * same holds for each redirect. `protocols` are those that may be called, also by a redirect.
 */
export function createGuardedCall(
  protocols: readonly ('http:' | 'https:')[],
  guard: GuardOptions = {},
): GuardedCall {
  async function callOnce(
    url: URL,
    { method, accept, signal }: Parameters<GuardedCall>[1],
  ): Promise<IncomingMessage> {
    const addresses = await checkAddress(url.hostname, guard, signal)
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest
    return new Promise((resolveCall, reject) => {
      request(url, { method, signal, agent: false, headers: { accept }, ...connectTo(addresses) })
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
