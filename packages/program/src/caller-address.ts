import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'

/**
 * Returns the caller's address, by which limits count; used by the API and the gateway. Each trusted proxy appends the address
 * it saw, so the caller is that many entries from the end; earlier entries come from the caller and prove nothing. For IPv6
 * it is the /64, because a caller usually controls all addresses of it. Ports, which some proxies append, do not count.
 */
export function callerAddress(request: IncomingMessage, trustedProxies: number): string {
  const peer = request.socket.remoteAddress ?? ''
  const forwarded = request.headers['x-forwarded-for']
  if (trustedProxies === 0 || forwarded === undefined) return networkOf(peer)
  const hops = String(forwarded)
    .split(',')
    .map((hop) => withoutPort(hop.trim()))
    .filter((hop) => hop !== '')
  return networkOf(hops[Math.max(0, hops.length - trustedProxies)] ?? peer)
}

/** An IPv6 address with a port is in brackets. */
function withoutPort(hop: string): string {
  const [, v6, v4] = /^(?:\[([^\]]+)\]|(\d+(?:\.\d+){3}))(?::\d+)?$/.exec(hop) ?? []
  return v6 ?? v4 ?? hop
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
