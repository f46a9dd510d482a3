import { cards } from '@herald/channels/cards'
import { platforms, providerNamed, regionNames } from '@herald/domain'
import { z } from 'zod'
import { blankToNull, dropBlank } from './blank.ts'

/** May be absent or blank. */
export function optional<S extends z.ZodType>(schema: S) {
  return z.preprocess(dropBlank, schema.optional())
}

/** Absent: stays as it is. Blank: null, which selects the default. */
export function changeable<S extends z.ZodType>(schema: S) {
  return z.preprocess(blankToNull, schema.nullable().optional())
}

/** Must be present and not blank. */
export function required<S extends z.ZodType>(schema: S) {
  return z.preprocess(dropBlank, schema)
}

/** At most `max` characters (code points). */
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

/** Text without control characters. */
export function name(max: number) {
  return text(max).refine((value) => !CONTROL.test(value), { error: 'must not contain control characters' })
}

/** Characters, and bytes as well. Tokens are indexed, and an index entry of Postgres has at most 2704 bytes; usual ones have a few hundred. */
export const MAX_DEVICE_TOKEN = 2048

const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n }
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

/** A 64-bit integer, exact, as a number or a decimal string. */
export const int64 = z
  .unknown()
  .transform((value, context): bigint => {
    const read = readInt64(value)
    if (read !== undefined) return read
    context.issues.push({
      code: 'custom',
      input: value,
      message: value === undefined ? 'is required' : 'must be a 64-bit integer',
    })
    return z.NEVER
  })
  .meta({ type: ['integer', 'string'], format: 'int64', pattern: '^-?\\d{1,19}$' })

const rangeText = (min: number, max: number) => `must be an integer from ${min} to ${max}`

export function integer(min: number, max: number) {
  return z.int(rangeText(min, max)).min(min).max(max)
}

/** The same as a query parameter. */
export function integerText(min: number, max: number) {
  return z
    .string()
    .transform((value, context): number => {
      const read = /^\d{1,10}$/.test(value) ? Number(value) : Number.NaN
      if (read >= min && read <= max) return read
      context.issues.push({ code: 'custom', input: value, message: rangeText(min, max) })
      return z.NEVER
    })
    .meta({ type: 'integer', minimum: min, maximum: max })
}

const providerNames = cards.map(({ name, provider, title }) => `${provider} ${title.en} (${name})`).join(', ')

/** A provider by its number or the name of its channel; becomes the number. In a query the number is text. */
function providerIn(place: 'body' | 'query') {
  return required(
    z
      .unknown()
      .transform((value, context): number => {
        const isNumber = place === 'body' ? typeof value === 'number' : /^\d{1,10}$/.test(String(value))
        const found = providerNamed(isNumber ? Number(value) : value)
        if (found !== undefined) return found
        context.issues.push({
          code: 'custom',
          input: value,
          message:
            value === undefined
              ? 'is required'
              : `must be an integer from 1 to ${cards.length}, or the name of a channel`,
        })
        return z.NEVER
      })
      .meta({ type: ['integer', 'string'] }),
  ).describe(providerNames)
}
export const provider = providerIn('body')
export const providerInQuery = providerIn('query')
export const environment = integer(0, 1)
export const region = z.enum(regionNames)
export const platform = z.enum(platforms)
export const deviceGuid = name(255)
export const pushToken = name(255)

/** The paging parameters of lists. */
export const page = {
  limit: optional(integer(1, 1000)).describe('Maximum number of entries (default 100).'),
  after: optional(int64).describe('Return only entries after this one: `next` of the previous page.'),
}
