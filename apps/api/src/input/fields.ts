import { z } from 'zod'
import { dropBlank } from './blank.ts'

/** May be absent or blank. */
export function optional<S extends z.ZodType>(schema: S) {
  return z.preprocess(dropBlank, schema.optional())
}

/** Must be there and not blank. */
export function required<S extends z.ZodType>(schema: S) {
  return z.preprocess(dropBlank, schema)
}

/** At most `max` characters, as people count them. */
export function text(max: number) {
  return z
    .string()
    .refine((value) => value.length <= max || [...value].length <= max, {
      error: `must have at most ${max} characters`,
    })
    .meta({ maxLength: max })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: names with control characters are what this finds
export const CONTROL = /[\u0000-\u001f\u007f]/

/** A name that people see and lists are joined with: no control characters. */
export function name(max: number) {
  return text(max).refine((value) => !CONTROL.test(value), { error: 'must not contain control characters' })
}

export const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n }
const DECIMAL = /^-?\d{1,19}$/

export function readInt64(value: unknown): bigint | undefined {
  const read =
    typeof value === 'bigint'
      ? value
      : typeof value === 'number' && Number.isSafeInteger(value)
        ? BigInt(value)
        : typeof value === 'string' && DECIMAL.test(value)
          ? BigInt(value)
          : undefined
  return read !== undefined && read >= INT64.min && read <= INT64.max ? read : undefined
}

/** A whole number of 64 bits, exact, as a number or a decimal string. */
export const int64 = z
  .unknown()
  .transform((value, context): bigint => {
    const read = readInt64(value)
    if (read !== undefined) return read
    context.issues.push({
      code: 'custom',
      input: value,
      message: value === undefined ? 'is required' : 'must be a whole number of 64 bits',
    })
    return z.NEVER
  })
  .meta({ type: ['integer', 'string'], format: 'int64', pattern: '^-?\\d{1,19}$' })

export function integer(min: number, max: number) {
  return z.int(`must be a whole number from ${min} to ${max}`).min(min).max(max)
}

/** A query parameter: the same, written out. */
export function integerText(min: number, max: number) {
  return z
    .string()
    .transform((value, context): number => {
      const read = /^\d{1,10}$/.test(value) ? Number(value) : Number.NaN
      if (read >= min && read <= max) return read
      context.issues.push({
        code: 'custom',
        input: value,
        message: `must be a whole number from ${min} to ${max}`,
      })
      return z.NEVER
    })
    .meta({ type: 'integer', minimum: min, maximum: max })
}

export const providerNames = '1 APNs, 2 Huawei, 3 Xiaomi, 4 Meizu, 5 vivo, 6 OPPO, 7 FCM, 8 Honor'
export const provider = required(integer(1, 8)).describe(providerNames)
export const environment = integer(0, 1)
export const platform = z.enum(['ios', 'android', 'harmony'])
export const deviceGuid = name(255)
export const pushToken = name(255)

/** What every list takes: how many, and behind which id. */
export const page = {
  limit: optional(integer(1, 1000)).describe('At most so many entries; default 100.'),
  after: optional(int64).describe('Only entries behind this one: the `next` of the page before.'),
}
