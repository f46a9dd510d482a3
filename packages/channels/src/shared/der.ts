/**
 * As much of ASN.1 as certificates and PKCS#12 files need. Node reads certificates but shows neither Apple's own extensions
 * nor the inside of a .p12, and it writes none; the libraries that do all bring their own cryptography.
 */
export type DerNode = {
  /** The identifier octet: class, constructed bit and number. */
  tag: number
  /** Content octets. Empty for constructed values of indefinite length, which have `children` alone. */
  value: Buffer
  /** The whole encoding, header included. */
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
const deepest = 32

export class DerProblem extends Error {}

/** Reads one value from the start of `bytes`. BER's indefinite lengths are taken too: some exporters write them. */
export function readDer(bytes: Buffer, depth = 0): DerNode {
  if (depth > deepest) throw new DerProblem('nested too deeply')
  if (bytes.length < 2) throw new DerProblem('ends too early')
  const identifier = bytes[0]!
  if ((identifier & 0x1f) === 0x1f) throw new DerProblem('long tags are not known here')
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

/** The child at `index`, or a DerProblem: a missing part is a broken file, never undefined. */
export function child(node: DerNode, index: number, expected?: number): DerNode {
  const found = node.children[index]
  if (!found || (expected !== undefined && found.tag !== expected))
    throw new DerProblem('is not built as expected')
  return found
}

/** Octets of an octet string, which BER may split into pieces. */
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

export function writeDer(identifier: number, ...parts: Buffer[]): Buffer {
  const value = Buffer.concat(parts)
  if (value.length < 0x80) return Buffer.concat([Buffer.from([identifier, value.length]), value])
  const hex = value.length.toString(16)
  const size = Buffer.from(hex.padStart(hex.length + (hex.length & 1), '0'), 'hex')
  return Buffer.concat([Buffer.from([identifier, 0x80 | size.length]), size, value])
}

export const sequence = (...parts: Buffer[]) => writeDer(tag.sequence, ...parts)
export const setOf = (...parts: Buffer[]) => writeDer(tag.set, ...parts)
export const octetString = (...parts: Buffer[]) => writeDer(tag.octetString, ...parts)
export const bitString = (bytes: Buffer) => writeDer(tag.bitString, Buffer.from([0]), bytes)
export const utf8 = (text: string) => writeDer(tag.utf8, Buffer.from(text))

/** An unsigned number given as bytes, most significant first. */
export function unsigned(bytes: Buffer): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const trimmed = bytes.subarray(start)
  return trimmed[0]! & 0x80
    ? writeDer(tag.integer, Buffer.from([0]), trimmed)
    : writeDer(tag.integer, trimmed)
}

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes: number[] = []
  for (const arc of [first * 40 + second, ...rest]) {
    const groups = [arc & 0x7f]
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left & 0x7f) | 0x80)
    bytes.push(...groups)
  }
  return writeDer(tag.oid, Buffer.from(bytes))
}

/** RFC 5280: UTCTime until 2049, GeneralizedTime from 2050. */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]|\.\d+/g, '')
  return date.getUTCFullYear() < 2050
    ? writeDer(tag.utcTime, Buffer.from(digits.slice(2)))
    : writeDer(tag.generalizedTime, Buffer.from(digits))
}
