import type { X509Certificate } from 'node:crypto'
import { oid } from '../frame/der.ts'

export type Environment = 'production' | 'development'

/** Apple's own extensions in push certificates. */
const marks = {
  development: oid('1.2.840.113635.100.6.3.1'),
  production: oid('1.2.840.113635.100.6.3.2'),
  topics: oid('1.2.840.113635.100.6.3.6'),
} as const
const environments: readonly Environment[] = ['production', 'development']

/** Topics and environments of a push certificate, found by the bytes of their object identifiers. */
export function readMarks(certificate: X509Certificate): { topics: string[]; environments: Environment[] } {
  const { raw } = certificate
  const at = raw.indexOf(marks.topics)
  const listed = at < 0 ? [] : readTopics(raw.subarray(at + marks.topics.length))
  const uid = /^UID=(.+)$/m.exec(certificate.subject)?.[1]
  return {
    topics: listed.length > 0 ? listed : uid ? [uid] : [],
    environments: environments.filter((name) => raw.includes(marks[name])),
  }
}

/** An octet string with a flat list: a topic, a list of its uses, the next topic, and so on. */
function readTopics(bytes: Buffer): string[] {
  const topics: string[] = []
  let list = open(open(bytes).content).content
  while (list.length > 1) {
    const { tag, content, rest } = open(list)
    if (tag === 0x0c) topics.push(content.toString('utf8'))
    list = rest
  }
  return topics
}

/** The first DER value of `bytes`. */
function open(bytes: Buffer): { tag: number; content: Buffer; rest: Buffer } {
  const first = bytes[1] ?? 0
  const size = first > 0x80 ? first & 0x7f : 0
  const length = size > 0 ? bytes.readUIntBE(2, size) : first
  const start = 2 + size
  return {
    tag: bytes[0] ?? 0,
    content: bytes.subarray(start, start + length),
    rest: bytes.subarray(start + length),
  }
}
