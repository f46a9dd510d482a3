import type { IncomingMessage } from 'node:http'

/**
 * Whose address a request comes from. Each trusted proxy appends the address it saw, so the caller is that many entries from
 * the end; what stands before was written by the caller and proves nothing. The API and the gateway must not differ in this.
 */
export function callerAddress(request: IncomingMessage, trustedProxies: number): string {
  const peer = request.socket.remoteAddress ?? ''
  const forwarded = request.headers['x-forwarded-for']
  if (trustedProxies === 0 || forwarded === undefined) return peer
  const hops = String(forwarded)
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '')
  return hops[Math.max(0, hops.length - trustedProxies)] ?? peer
}
