/** Header names in lower case; values of repeated headers joined by a comma. */
export type HttpReply = { status: number; headers: Readonly<Record<string, string>>; text: string }

type TransportFailureKind = 'timeout' | 'aborted' | 'network' | 'oversized'

/**
 * There is no complete reply, so it is unknown what the vendor did. The message never contains an address, a token or a body: it
 * is shown in failure lists that operators copy.
 */
export class TransportFailure extends Error {
  readonly kind: TransportFailureKind
  constructor(kind: TransportFailureKind, message: string) {
    super(message)
    this.kind = kind
  }
}

/**
 * Reads Retry-After, which is a number of seconds or an HTTP date. Undefined when absent or invalid, and for 0 or a time in the past:
 * retrying an overloaded vendor without a pause makes it worse.
 */
export function retryAfterSeconds(headers: HttpReply['headers'], nowMs: number): number | undefined {
  const value = headers['retry-after']?.trim()
  if (!value) return undefined
  const seconds = /^\d{1,9}$/.test(value) ? Number(value) : Math.ceil((Date.parse(value) - nowMs) / 1000)
  return seconds > 0 ? seconds : undefined
}

/** Returns undefined when the text is not a JSON object: gateways of vendors sometimes reply with HTML. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** Reads an integer that the vendor may send as a string. */
export function readInteger(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) ? number : undefined
}

/** Returns the strings of a list in a reply; none if the value is not a list. */
export function stringsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

/** Joins a base URL, with or without a slash at its end, and a path. */
export function joinUrl(base: string, path: string): string {
  return base.replace(/\/+$/, '') + path
}
