import { BlockList, isIPv4 } from 'node:net'

/** Special-purpose addresses: https://www.iana.org/assignments/iana-ipv4-special-registry/ */
const reserved4: [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]
/** In IPv6 only 2000::/3 is routed; the reserved blocks in it embed IPv4 addresses or are for documentation. */
const routed6: [string, number] = ['2000::', 3]
/** A translator (NAT64) sends what goes to this block to the IPv4 address in its last 32 bits; DNS64 makes such addresses of public names. */
const translated = { prefix: '64:ff9b::', bits: 96 }
const reserved6: [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const reserved = new BlockList()
for (const [net, bits] of reserved4) {
  reserved.addSubnet(net, bits, 'ipv4')
  reserved.addSubnet(translated.prefix + net, translated.bits + bits, 'ipv6')
}
for (const [net, bits] of reserved6) reserved.addSubnet(net, bits, 'ipv6')
const routed = new BlockList()
routed.addSubnet(...routed6, 'ipv6')
routed.addSubnet(translated.prefix, translated.bits, 'ipv6')

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !reserved.check(address, 'ipv4')
  return routed.check(address, 'ipv6') && !reserved.check(address, 'ipv6')
}
