/**
 * The part of ASN.1 that certificates and PKCS#12 files need. Node reads certificates, but neither Apple's extensions nor the
 * contents of a .p12; libraries that do bring their own cryptography.
 */
export type DerNode = {
  /** The identifier octet: class, constructed bit and number. */
  tag: number
  /** Content octets. Empty for constructed values of indefinite length, which have only `children`. */
  value: Buffer
  /** The whole encoding including the header. */
  raw: Buffer
  children: DerNode[]
}

export const tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8: 0x0c,
  printable: 0x13,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** Context-specific, constructed. */
export const explicitTag = (number: number) => 0xa0 | number
/** Context-specific, primitive. */
export const implicitTag = (number: number) => 0x80 | number

const constructed = 0x20
const maxDepth = 32

export class DerProblem extends Error {}

/** Reads one value from the start of `bytes`, also with BER's indefinite lengths, which some exporters write. */
export function readDer(bytes: Buffer, depth = 0): DerNode {
  if (depth > maxDepth) throw new DerProblem('is nested too deeply')
  if (bytes.length < 2) throw new DerProblem('ends too early')
  const identifier = bytes[0]!
  if ((identifier & 0x1f) === 0x1f) throw new DerProblem('has a long tag, which is not supported')
  let at = 2
  let length = bytes[1]!
  if (length === 0x80) return readIndefinite(bytes, identifier, depth)
  if (length > 0x80) {
    const size = length & 0x7f
    if (size > 4 || bytes.length < 2 + size) throw new DerProblem('has a bad length')
    length = bytes.readUIntBE(2, size)
    at += size
  }
  if (bytes.length < at + length) throw new DerProblem('ends too early')
  const value = bytes.subarray(at, at + length)
  const children = identifier & constructed ? readAll(value, depth + 1) : []
  return { tag: identifier, value, raw: bytes.subarray(0, at + length), children }
}

function readIndefinite(bytes: Buffer, identifier: number, depth: number): DerNode {
  if (!(identifier & constructed)) throw new DerProblem('has a bad length')
  const children: DerNode[] = []
  let at = 2
  while (!(bytes[at] === 0 && bytes[at + 1] === 0)) {
    const child = readDer(bytes.subarray(at), depth + 1)
    children.push(child)
    at += child.raw.length
  }
  return { tag: identifier, value: Buffer.alloc(0), raw: bytes.subarray(0, at + 2), children }
}

function readAll(bytes: Buffer, depth: number): DerNode[] {
  const nodes: DerNode[] = []
  for (let at = 0; at < bytes.length; ) {
    const node = readDer(bytes.subarray(at), depth)
    nodes.push(node)
    at += node.raw.length
  }
  return nodes
}

/** Returns the child at `index`; throws DerProblem if it is missing or has another tag. */
export function child(node: DerNode, index: number, expected?: number): DerNode {
  const found = node.children[index]
  if (!found || (expected !== undefined && found.tag !== expected))
    throw new DerProblem('has an unexpected structure')
  return found
}

/** The bytes of an octet string, which BER may split into parts. */
export function octets(node: DerNode): Buffer {
  return node.tag & constructed ? Buffer.concat(node.children.map(octets)) : node.value
}

export function oidText(node: DerNode): string {
  const arcs: number[] = []
  let arc = 0
  for (const byte of node.value) {
    arc = arc * 128 + (byte & 0x7f)
    if (byte & 0x80) continue
    if (arcs.length === 0) {
      const first = Math.min(2, Math.floor(arc / 40))
      arcs.push(first, arc - first * 40)
    } else arcs.push(arc)
    arc = 0
  }
  return arcs.join('.')
}

export function smallInteger(node: DerNode): number {
  if (node.tag !== tag.integer || node.value.length === 0 || node.value.length > 5)
    throw new DerProblem('has a number that is too large')
  return node.value.readIntBE(0, node.value.length)
}
