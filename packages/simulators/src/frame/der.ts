/** Writes the parts of ASN.1 that certificates need; Node has no writer. */
export const tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** Context-specific, constructed. */
export const explicitTag = (number: number) => 0xa0 | number
/** Context-specific, primitive. */
export const implicitTag = (number: number) => 0x80 | number

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
