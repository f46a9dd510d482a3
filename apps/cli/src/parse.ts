import { parseVerbatim } from '@herald/domain'
import { InvalidArgumentError } from 'commander'

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

export function readId(text: string): bigint {
  if (!/^\d{1,19}$/.test(text)) throw new InvalidArgumentError('It must be a number.')
  return BigInt(text)
}

/** For a flag that may be repeated or take several values. */
export const gather =
  <T>(read: (text: string) => T) =>
  (text: string, before: T[] | undefined): T[] => [...(before ?? []), read(text)]

export const wholeNumber =
  (min: number, max = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(
        max === Number.MAX_SAFE_INTEGER
          ? `It must be a whole number of at least ${min}.`
          : `It must be a whole number from ${min} to ${max}.`,
      )
    return value
  }

export const oneOf =
  <T extends string>(...words: readonly T[]) =>
  (text: string): T => {
    if (!words.includes(text as T))
      throw new InvalidArgumentError(`It must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}.`)
    return text as T
  }

export function readSwitch(text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new InvalidArgumentError('It must be on or off.')
  return text === 'on'
}

/** Seconds, or a duration such as 30m, within bounds. */
export const seconds =
  (min: number, max: number) =>
  (text: string): number => {
    const [, number, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
    const value = Number(number ?? Number.NaN) * UNITS[unit]!
    if (!(value >= min && value <= max))
      throw new InvalidArgumentError(`It must be ${min} to ${max} seconds, or a duration such as 30m.`)
    return value
  }

/** The word `default` restores the default. */
export const orDefault =
  <T>(read: (text: string) => T) =>
  (text: string): T | null =>
    text === 'default' ? null : read(text)

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

/** Parses a JSON object that is sent on as it is: numbers keep their digits. */
export function readObject(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = parseVerbatim(text)
  } catch (error) {
    // The engine's message may quote line ends of the text.
    throw new InvalidArgumentError(`Not valid JSON: ${(error as Error).message.replaceAll(/\s+/g, ' ')}.`)
  }
  if (!/^\s*\{/.test(text)) throw new InvalidArgumentError('It must be a JSON object.')
  return value as Record<string, unknown>
}
