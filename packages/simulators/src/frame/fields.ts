/** Checks of single values, shared by the rule tables. Simulators use nothing of the adapters that they check. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The JSON object that a text contains; undefined for other texts. */
export function parseObject(text: unknown): Record<string, unknown> | undefined {
  if (typeof text !== 'string') return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function isWhole(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

export function isHttps(value: unknown): boolean {
  return typeof value === 'string' && /^https:\/\/./.test(value)
}

export function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** A number is a number in JSON and digits in a form. */
export function readNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined
}

/** Absent, or a number in the range. */
export function isInRange(value: unknown, min: number, max: number): boolean {
  if (value === undefined) return true
  const number = readNumber(value)
  return number !== undefined && number >= min && number <= max
}
