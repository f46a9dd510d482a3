import type { MessageClass } from '@herald/domain'
import { CertificateProblem, type Limits } from '../channel.ts'

/** Reads one value of `extra`; throws a CertificateProblem with its name. */
export type Reader<T> = (value: unknown, name: string) => T
export type Readers = Record<string, Reader<unknown>>
/** The result of a table of readers: every key is optional, because blank values count as not set. */
export type Read<R extends Readers> = { [K in keyof R]?: ReturnType<R[K]> }

export type ExtraLimits = Pick<
  Limits,
  'requestsPerSecond' | 'devicesPerSecond' | 'dailyQuota' | 'perDevicePerDay'
>

export type CommonExtra<ClassFields> = {
  limits: ExtraLimits
  /** Class of messages without one. */
  defaultClass: MessageClass
  classes: Record<MessageClass, ClassFields>
}

export const text: Reader<string> = (value, name) => {
  if (typeof value !== 'string') throw new CertificateProblem(`${name} must be a string`)
  return value.trim()
}

/** A string or a number, because ids of channels and templates look like numbers. */
export const idText: Reader<string> = (value, name) => {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  return text(value, name)
}

export const flag: Reader<boolean> = (value, name) => {
  if (typeof value !== 'boolean') throw new CertificateProblem(`${name} must be true or false`)
  return value
}

export function integer(min: number, max: number): Reader<number> {
  return (value, name) => {
    if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max)
      throw new CertificateProblem(`${name} must be a whole number from ${min} to ${max}`)
    return value as number
  }
}

export function oneOf<const T extends string | number>(...allowed: T[]): Reader<T> {
  return (value, name) => {
    if (!allowed.includes(value as T))
      throw new CertificateProblem(`${name} must be one of ${allowed.join(', ')}`)
    return value as T
  }
}

/** Vendors add categories from time to time, so only the form is checked. `description` completes the error message. */
export function categoryWord(max: number, description: string): Reader<string> {
  return (value, name) => {
    const word = text(value, name)
    if (!/^[A-Z][A-Z_]*$/.test(word) || word.length > max)
      throw new CertificateProblem(`${name} must be ${description}`)
    return word
  }
}

export const texts: Reader<string[]> = (value, name) => {
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string' || !item.trim()))
    throw new CertificateProblem(`${name} must be a list of non-blank strings`)
  return value.map((item: string) => item.trim())
}

/** Reads an object with a table of readers. Blank values are left out; an unknown key is refused. */
function readObject<R extends Readers>(value: unknown, name: string, readers: R): Read<R> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CertificateProblem(`${name} must be a JSON object`)
  const read: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) {
    const reader = Object.hasOwn(readers, key) ? readers[key] : undefined
    if (!reader)
      throw new CertificateProblem(
        `${name}.${key} is not a known field; remove it or use one of ${Object.keys(readers).join(', ')}`,
      )
    if (!isBlank(item)) read[key] = reader(item, `${name}.${key}`)
  }
  return read as Read<R>
}

/**
 * Reads a certificate's `extra`: the vendor's own keys with `own`, and limits, default_class and classes, which all vendors have.
 * `classFields` are the vendor's fields of a class.
 */
export function readExtra<O extends Readers, C extends Readers>(
  extra: Record<string, unknown>,
  own: O,
  classFields: C,
): Read<O> & CommonExtra<Read<C>> {
  const classReaders = {
    service: (value: unknown, name: string) => readObject(value, name, classFields),
    marketing: (value: unknown, name: string) => readObject(value, name, classFields),
  }
  const common = {
    limits: readLimits,
    default_class: oneOf('service', 'marketing'),
    classes: (value: unknown, name: string) => readObject(value, name, classReaders),
  }
  const read = readObject(extra ?? {}, 'extra', { ...own, ...common })
  const { limits, default_class, classes, ...rest } = read as Read<typeof common>
  return {
    ...(rest as Read<O>),
    limits: limits ?? {},
    defaultClass: default_class ?? 'marketing',
    classes: {
      service: (classes?.service ?? {}) as Read<C>,
      marketing: (classes?.marketing ?? {}) as Read<C>,
    },
  }
}

/** Returns one of the five fields, trimmed; throws a CertificateProblem with its `description` if it is blank. */
export function requireField(value: string, field: string, description: string): string {
  const trimmed = (value ?? '').trim()
  if (!trimmed) throw new CertificateProblem(`${field} is missing: enter ${description}`)
  return trimmed
}

/** The same for keys in headers, forms and signatures: one word of printable ASCII. */
export function requireWord(value: string, field: string, description: string): string {
  const word = requireField(value, field, description)
  if (!/^[\x21-\x7e]{1,256}$/.test(word))
    throw new CertificateProblem(`${field} must be ${description}, without spaces`)
  return word
}

const readLimits: Reader<ExtraLimits> = (value, name) => {
  const read = readObject(value, name, {
    requests_per_s: integer(1, 1_000_000),
    devices_per_s: integer(1, 10_000_000),
    daily_quota: integer(0, 1_000_000_000_000),
    per_device_per_day: integer(0, 255),
  })
  return {
    requestsPerSecond: read.requests_per_s,
    devicesPerSecond: read.devices_per_s,
    dailyQuota: read.daily_quota,
    perDevicePerDay: read.per_device_per_day,
  }
}

function isBlank(value: unknown): boolean {
  if (value === undefined || value === null) return true
  if (typeof value === 'string') return value.trim() === ''
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && Object.keys(value).length === 0
}
