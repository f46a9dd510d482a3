import { createPrivateKey } from 'node:crypto'

/** A wrong or missing setting; the message is one sentence that names the variable. */
export class SettingsError extends Error {
  override name = 'SettingsError'
}

/** How a variable is parsed. `parse` throws a plain Error whose message continues the sentence "NAME …". */
export type Setting<T> = {
  name: string
  /** One line for the documentation. */
  about: string
  /** The values that `parse` accepts, for the documentation. */
  values: string
  parse: (text: string) => T
  fallback: T
  /** The default as the documentation shows it, when it is not a plain value. */
  fallbackText?: string
  /** Never printed; may also be read from the file that NAME_FILE names. */
  secret?: true
}

type Options<T> = { fallback: T; fallbackText?: string; secret?: true }

function setting<T, F extends T | undefined>(
  name: string,
  about: string,
  { fallback, ...rest }: Options<F>,
  values: string,
  parse: (text: string) => T,
): Setting<T | F> {
  return { name, about, values, parse, fallback, ...rest }
}

const quoted = (values: readonly string[]) => values.map((value) => `\`${value}\``).join(', ')

export const text = <F extends string | undefined>(
  name: string,
  about: string,
  { minLength = 1, ...options }: Options<F> & { minLength?: number },
) =>
  setting(name, about, options, minLength > 1 ? `${minLength} characters or more` : 'text', (value) => {
    if (value.length < minLength) throw new Error(`must have ${minLength} characters or more`)
    return value
  })

export const integer = (name: string, about: string, fallback: number, range: [number, number]) =>
  setting(name, about, { fallback }, rangeText(range), wholeNumber(range))

/** A number whose default differs between programs. */
export const optionalInteger = (
  name: string,
  about: string,
  fallbackText: string,
  range: [number, number],
): Setting<number | undefined> =>
  setting(name, about, { fallback: undefined, fallbackText }, rangeText(range), wholeNumber(range))

const rangeText = ([min, max]: [number, number]) => `${min} to ${max}`

const wholeNumber =
  ([min, max]: [number, number]) =>
  (value: string) => {
    const number = Number(value)
    if (!/^\d+$/.test(value) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`)
    }
    return number
  }

export const flag = (name: string, about: string, fallback: boolean) =>
  setting(
    name,
    about,
    { fallback, fallbackText: fallback ? '`on`' : '`off`' },
    quoted(['on', 'off']),
    (value) => {
      if (value !== 'on' && value !== 'off') throw new Error('must be on or off')
      return value === 'on'
    },
  )

export const oneOf = <T extends string>(name: string, about: string, fallback: T, allowed: readonly T[]) =>
  setting(name, about, { fallback }, quoted(allowed), (value) => {
    const known = allowed.find((one) => one === value)
    if (!known) throw new Error(`must be one of ${allowed.join(', ')}`)
    return known
  })

/** A URL with one of these schemes. Slashes at its end are removed, so that paths can be appended. */
export const address = <F extends string | undefined>(
  name: string,
  about: string,
  schemes: readonly string[],
  options: Options<F>,
) =>
  setting(name, about, options, quoted(schemes.map((one) => `${one}://`)), (value) => {
    const scheme = /^([a-z-]+):\/\/[^\s/]/.exec(value)?.[1]
    if (!scheme || !schemes.includes(scheme)) {
      throw new Error(`must be a URL that begins with ${schemes.map((one) => `${one}://`).join(' or ')}`)
    }
    // A list of hosts, as for Redis Sentinel and Cluster, is not a URL; packages/queue parses it.
    const isList = scheme.startsWith('redis') && value.includes(',')
    if (!isList && !URL.canParse(value)) throw new Error('must be a valid URL')
    // The clients of the other schemes read user name and password in their own way.
    if (scheme.startsWith('http') && !hasDecodableCredentials(new URL(value)))
      throw new Error('must have a percent sign in its user name or password written as %25')
    return value.replace(/\/+$/, '')
  })

function hasDecodableCredentials({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username)
    decodeURIComponent(password)
    return true
  } catch {
    return false
  }
}

export const key32 = (name: string, about: string, options: Options<undefined>) =>
  setting<Buffer, undefined>(name, about, options, '32 bytes in hex or base64', (value) => {
    const bytes = readKey(value)
    if (!bytes) throw new Error('must be 32 bytes in hex or base64')
    return bytes
  })

export const keys32 = (name: string, about: string, options: Omit<Options<undefined>, 'fallback'>) =>
  setting<readonly Buffer[], readonly Buffer[]>(
    name,
    about,
    { ...options, fallback: [] },
    'keys of 32 bytes in hex or base64, separated by commas',
    (value) =>
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

/** A P-256 private key in PEM, as ES256 needs it; line ends may be written as `\n`. */
export const es256Key = (name: string, about: string, options: Options<undefined>) =>
  setting<string, undefined>(name, about, options, 'PEM; line ends may be written as `\\n`', (value) => {
    const pem = value.replaceAll('\\n', '\n')
    try {
      const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem)
      if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return pem
    } catch {
      // Reported below; the library's message could quote the key.
    }
    throw new Error('must be an EC private key on the curve P-256 in PEM')
  })
