import { createPrivateKey } from 'node:crypto'

/** A wrong or missing setting; the message is one sentence that names the variable. */
export class SettingsError extends Error {
  override name = 'SettingsError'
}

/** How one variable becomes one value. `parse` throws a plain Error that completes "NAME …". */
export type Setting<T> = {
  name: string
  /** One line for the documentation. */
  about: string
  parse: (text: string) => T
  fallback: T
  /** What the documentation says when the fallback is not a plain value. */
  fallbackText?: string
  /** Never printed; may also come from the file that NAME_FILE names. */
  secret?: true
}

type Options<T> = { fallback: T; fallbackText?: string; secret?: true }

function setting<T, F extends T | undefined>(
  name: string,
  about: string,
  { fallback, ...rest }: Options<F>,
  parse: (text: string) => T,
): Setting<T | F> {
  return { name, about, parse, fallback, ...rest }
}

export const text = <F extends string | undefined>(
  name: string,
  about: string,
  { least = 1, ...options }: Options<F> & { least?: number },
) =>
  setting(name, about, options, (value) => {
    if (value.length < least) throw new Error(`must have ${least} characters or more`)
    return value
  })

export const integer = (name: string, about: string, fallback: number, [least, most]: [number, number]) =>
  setting(name, about, { fallback }, (value) => {
    const number = Number(value)
    if (!/^\d+$/.test(value) || number < least || number > most) {
      throw new Error(`must be a whole number from ${least} to ${most}`)
    }
    return number
  })

export const flag = (name: string, about: string, fallback: boolean) =>
  setting(name, about, { fallback, fallbackText: fallback ? 'on' : 'off' }, (value) => {
    if (value !== 'on' && value !== 'off') throw new Error('must be on or off')
    return value === 'on'
  })

export const oneOf = <T extends string>(name: string, about: string, fallback: T, allowed: readonly T[]) =>
  setting(name, about, { fallback }, (value) => {
    const known = allowed.find((word) => word === value)
    if (!known) throw new Error(`must be one of ${allowed.join(', ')}`)
    return known
  })

/** An address with one of these schemes, without a slash at its end so that paths can be appended. */
export const address = <F extends string | undefined>(
  name: string,
  about: string,
  schemes: readonly string[],
  options: Options<F>,
) =>
  setting(name, about, options, (value) => {
    const scheme = /^([a-z-]+):\/\/[^\s/]/.exec(value)?.[1]
    if (!scheme || !schemes.includes(scheme)) {
      throw new Error(
        `must be an address that begins with ${schemes.map((known) => `${known}://`).join(' or ')}`,
      )
    }
    // A list of hosts, as Redis Sentinel and Cluster take it, is not a URL; its user checks it further.
    if (!value.includes(',') && !URL.canParse(value)) throw new Error('must be a well-formed address')
    return value.replace(/\/+$/, '')
  })

export const key32 = (name: string, about: string, options: Options<undefined>) =>
  setting<Buffer, undefined>(name, about, options, (value) => {
    const bytes = readKey(value)
    if (!bytes) throw new Error('must be 32 bytes in hex or base64')
    return bytes
  })

export const keys32 = (name: string, about: string, options: Omit<Options<undefined>, 'fallback'>) =>
  setting<readonly Buffer[], readonly Buffer[]>(name, about, { ...options, fallback: [] }, (value) =>
    value.split(',').map((one) => {
      const bytes = readKey(one.trim())
      if (!bytes) throw new Error('must be keys of 32 bytes in hex or base64, separated by commas')
      return bytes
    }),
  )

function readKey(value: string): Buffer | undefined {
  const isHex = /^[0-9a-f]{64}$/i.test(value)
  const bytes = Buffer.from(value, isHex ? 'hex' : 'base64')
  return (isHex || /^[\w+/-]+={0,2}$/.test(value)) && bytes.length === 32 ? bytes : undefined
}

/** An EC private key on P-256 as PEM, which ES256 needs; `\n` may stand for a line's end. */
export const es256Key = (name: string, about: string, options: Options<undefined>) =>
  setting<string, undefined>(name, about, options, (value) => {
    const pem = value.replaceAll('\\n', '\n')
    try {
      const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem)
      if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return pem
    } catch {
      // Said below; what the library says could quote the key.
    }
    throw new Error('must be an EC private key on the curve P-256 in PEM')
  })
