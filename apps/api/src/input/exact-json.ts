/** The reviver's context (Node 22+), which the TypeScript library does not describe yet. */
type Parse = (
  text: string,
  reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown
const parse = JSON.parse as Parse

const LONG_NUMBER = /\d{16}/
const INTEGER = /^-?\d+$/

/** Integers that a double cannot hold come back as bigint, so that int64 is exact. Throws what JSON.parse throws. */
export function parseExact(text: string): unknown {
  // A reviver makes parsing several times slower, and few texts need it.
  return LONG_NUMBER.test(text) ? parse(text, exactIntegers) : JSON.parse(text)
}

function exactIntegers(_key: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  return context.source !== undefined && INTEGER.test(context.source) ? BigInt(context.source) : value
}
