import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'

/**
 * Whose address a request comes from. Each trusted proxy appends the address it saw, so the caller is that many entries from
 * the end; what stands before was written by the caller and proves nothing. The API and the gateway must not differ in this. It is
 * what limits count by: of IPv6 the /64, since whoever has one address of it has them all.
 */
export function callerAddress(request: IncomingMessage, trustedProxies: number): string {
  const peer = request.socket.remoteAddress ?? ''
  const forwarded = request.headers['x-forwarded-for']
  if (trustedProxies === 0 || forwarded === undefined) return networkOf(peer)
  const hops = String(forwarded)
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '')
  return networkOf(hops[Math.max(0, hops.length - trustedProxies)] ?? peer)
}

function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped) return mapped[1]!
  const [left = '', right] = address.split('%')[0]!.split('::')
  const groups = left === '' ? [] : left.split(':')
  if (right !== undefined) {
    const after = right === '' ? 0 : right.split(':').length + (right.includes('.') ? 1 : 0)
    while (groups.length + after < 8) groups.push('0')
    groups.push(...right.split(':'))
  }
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
