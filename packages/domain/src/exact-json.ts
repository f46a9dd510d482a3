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

/** Parts of numbers that a double may round to another integer, or to 0. */
const LONG_NUMBER = /[\d.]{16}|\de-\d{3}/i
const INTEGER = /^-?\d+$/

/** Parses JSON so that integers beyond 2^53 become bigints, and no fraction becomes an integer. Throws what JSON.parse throws. */
export function parseExact(text: string): unknown {
  // A reviver makes parsing several times slower, and few texts need it.
  if (!LONG_NUMBER.test(text)) return JSON.parse(text)
  return json.parse(text, (_key, value, { source }) => {
    if (typeof value !== 'number' || source === undefined) return value
    if (INTEGER.test(source)) return Number.isSafeInteger(value) ? value : BigInt(source)
    return Number.isSafeInteger(value) && hasFraction(source) ? unrounded(value) : value
  })
}

/** Of a number of JSON with a point or an exponent. */
function hasFraction(source: string): boolean {
  const [mantissa = '', exponent = '0'] = (source[0] === '-' ? source.slice(1) : source).split(/e/i)
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = whole + fraction
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end--
  return end > 0 && end > whole.length + Number(exponent)
}

/** A double next to that of a fraction that was rounded to an integer: a field for integers must refuse it. Beyond 2^51 there may be none. */
function unrounded(value: number): number {
  if (Math.abs(value) >= 2 ** 51) return Number.NaN
  return value === 0 ? Number.MIN_VALUE : value * (1 + Number.EPSILON)
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
