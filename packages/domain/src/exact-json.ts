/** `JSON.rawJSON` and the reviver's context (Node 22+), which TypeScript's library does not declare yet. */
type ExactJson = {
  rawJSON(text: string): unknown
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown
}
const json = JSON as unknown as ExactJson

/**
 * Parses JSON so that `JSON.stringify` writes every number with its original digits. A double would turn 9007199254740993
 * into 9007199254740992.
 */
export function parseVerbatim(text: string): unknown {
  return json.parse(text, (_key, value, context) =>
    typeof value === 'number' && context.source !== undefined ? json.rawJSON(context.source) : value,
  )
}

const LONG_NUMBER = /\d{16}/
const INTEGER = /^-?\d+$/

/** Parses JSON so that integers beyond 2^53 become bigints. Throws what JSON.parse throws. */
export function parseExact(text: string): unknown {
  // A reviver makes parsing several times slower, and few texts need it.
  if (!LONG_NUMBER.test(text)) return JSON.parse(text)
  return json.parse(text, (_key, value, { source }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
    return source !== undefined && INTEGER.test(source) ? BigInt(source) : value
  })
}

/** Writes JSON; a bigint becomes a number with all its digits. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    // Most values contain no bigint, and a replacer makes stringify several times slower.
    if (!(error instanceof TypeError)) throw error
    return JSON.stringify(value, (_key, field) =>
      typeof field === 'bigint' ? json.rawJSON(String(field)) : field,
    )
  }
}
