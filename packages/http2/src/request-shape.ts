import type { Field } from './hpack/encoder.ts'
import { entryOverhead } from './hpack/static-table.ts'
import type { MulticastRequest, RequestBody, VaryingHeader } from './multicast-request.ts'

/** A multicast's request, checked and in the form that the sender writes. */
export type RequestShape = {
  readonly method: string
  readonly pseudo: readonly Field[]
  readonly ordinary: readonly Field[]
  /** Size of the shared header list, as RFC 9113 section 6.5.2 counts it. */
  readonly listBytes: number
  readonly varying: readonly VaryingField[]
  /** Undefined when the path is shared and is in `pseudo`. */
  readonly pathOf?: (index: number) => string
  readonly body: BodyShape
}

/** `prefix` is the field up to its value: a literal that is not added to the peer's table, with the name in full. */
export type VaryingField = {
  readonly name: string
  readonly prefix: Buffer
  readonly textOf: (index: number) => string | undefined
}

export type BodyShape =
  | { readonly each: (index: number) => Uint8Array | string }
  | {
      readonly each?: undefined
      readonly before: Buffer
      readonly slot?: (index: number) => string
      readonly after: Buffer
    }

/** The caller's input cannot be sent; the message names the cause. */
export class InvalidRequest extends Error {}

const empty = Buffer.alloc(0)

export function shapeRequest(
  request: MulticastRequest,
  origin: { scheme: string; authority: string },
): RequestShape {
  const pseudo = new Map<string, string>([
    [':method', 'POST'],
    [':scheme', origin.scheme],
    [':authority', origin.authority],
  ])
  const ordinary: [string, string][] = []
  for (const [name, value] of Object.entries(request.headers)) {
    if (!name.startsWith(':')) ordinary.push(checkHeader(name, value))
    else if (pseudo.has(name)) pseudo.set(name, checkValue(name, value))
    else throw new InvalidRequest(`the pseudo header ${JSON.stringify(name)} cannot be set`)
  }
  if (typeof request.path === 'string') {
    checkPath(request.path)
    pseudo.set(':path', request.path)
  }
  const field = ([name, value]: [string, string]): Field => ({ name, value })
  const fields = [...pseudo, ...ordinary]
  return {
    method: pseudo.get(':method')!,
    pseudo: [...pseudo].map(field),
    ordinary: ordinary.map(field),
    listBytes: fields.reduce((sum, [name, value]) => sum + name.length + value.length + entryOverhead, 0),
    varying: request.varying?.map(shapeVarying) ?? [],
    pathOf: typeof request.path === 'string' ? undefined : request.path,
    body: shapeBody(request.body),
  }
}

/** Names up to this length are written with a single byte for it. */
const maxVaryingName = 126

function shapeVarying({ name, textOf }: VaryingHeader): VaryingField {
  const lower = checkName(name)
  if (lower.length > maxVaryingName) throw new InvalidRequest(`the header name ${lower} is too long`)
  return {
    name: lower,
    prefix: Buffer.from(`\0${String.fromCharCode(lower.length)}${lower}`, 'latin1'),
    textOf,
  }
}

function shapeBody(body: RequestBody | undefined): BodyShape {
  if (body === undefined) return { before: empty, after: empty }
  if (typeof body === 'function') return { each: body }
  if (typeof body === 'string' || body instanceof Uint8Array) return { before: toBuffer(body), after: empty }
  return { before: toBuffer(body.before), slot: body.slot, after: toBuffer(body.after) }
}

export function toBuffer(part: Uint8Array | string): Buffer {
  if (typeof part === 'string') return Buffer.from(part)
  if (Buffer.isBuffer(part)) return part
  if (part instanceof Uint8Array) return Buffer.from(part.buffer, part.byteOffset, part.byteLength)
  throw new InvalidRequest('a body is neither a string nor bytes')
}

const forbidden = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])

function checkHeader(name: string, value: string): [string, string] {
  const lower = checkName(name)
  return [lower, checkValue(lower, value)]
}

function checkName(name: string): string {
  const lower = name.toLowerCase()
  if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(lower))
    throw new InvalidRequest(`${JSON.stringify(name)} is not a valid header name`)
  if (forbidden.has(lower)) throw new InvalidRequest(`the header ${lower} is not allowed in HTTP/2`)
  return lower
}

export function checkValue(name: string, value: string): string {
  if (typeof value !== 'string') throw new InvalidRequest(`the header ${name} is not a string`)
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value) || /^[\t ]|[\t ]$/.test(value)) {
    throw new InvalidRequest(`the header ${name} has a character that cannot be sent`)
  }
  return value
}

export function checkPath(path: unknown): asserts path is string {
  if (typeof path !== 'string') throw new InvalidRequest('a path is not a string')
  if (!/^\/[\x21-\x7e]*$/.test(path)) {
    throw new InvalidRequest('a path does not start with / or has a character that cannot be sent')
  }
}
