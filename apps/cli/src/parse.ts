import { InvalidArgumentError } from 'commander'
import { rawJson } from './io.ts'

/** Readers of flags; what they throw is a mistake of the caller and exit code 2. */

export function readId(text: string): bigint {
  if (!/^\d{1,19}$/.test(text)) throw new InvalidArgumentError('It must be a number.')
  return BigInt(text)
}

/** For a flag that may be repeated or take several values. */
export const gather =
  <T>(read: (text: string) => T) =>
  (text: string, before: T[] | undefined): T[] => [...(before ?? []), read(text)]

export const wholeNumber =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(
        most === Number.MAX_SAFE_INTEGER
          ? `It must be a whole number from ${least} on.`
          : `It must be a whole number from ${least} to ${most}.`,
      )
    return value
  }

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Unix seconds, a time such as 2027-01-31T08:00Z, or an offset such as +30m. */
export function readTime(text: string): number {
  const offset = /^\+(\d{1,9})([smhd])$/.exec(text)
  if (offset) return Math.floor(Date.now() / 1000) + Number(offset[1]) * UNITS[offset[2]!]!
  if (/^\d{9,11}$/.test(text)) return Number(text)
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms))
    throw new InvalidArgumentError('It must be Unix seconds, a time such as 2027-01-31T08:00Z, or +30m.')
  return Math.floor(ms / 1000)
}

/** A JSON object whose numbers keep their digits: what it carries is passed on, not understood. */
export function readObject(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = (JSON.parse as ParseVerbatim)(text, (_key, field, context) =>
      typeof field === 'number' && context?.source !== undefined ? rawJson(context.source) : field,
    )
  } catch (error) {
    // What the engine says may quote line ends of the text.
    throw new InvalidArgumentError(`It is no JSON: ${(error as Error).message.replaceAll(/\s+/g, ' ')}.`)
  }
  if (!/^\s*\{/.test(text)) throw new InvalidArgumentError('It must be a JSON object.')
  return value as Record<string, unknown>
}

type ParseVerbatim = (
  text: string,
  reviver: (key: string, value: unknown, context?: { source?: string }) => unknown,
) => unknown
