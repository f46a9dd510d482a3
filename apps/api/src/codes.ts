/**
 * Every failure code there is: the first three digits are the HTTP status, the last two the reason. The only source; the
 * documentation is generated from it.
 */
export const codes = {
  40001: 'The body is not JSON, not an object, or has a field its object does not have.',
  40002: 'A field, header or query parameter has the wrong type, range or shape.',
  40003:
    'The audience is blank, neither `all` nor an object, has not exactly one non-blank key, or has over 500 items.',
  40004: 'The message is blank: every field is blank, or there is nothing but `type` text or image.',
  40005: 'The header app_id is missing.',
  40101: 'The access token, or the operator key, is missing.',
  40102:
    'The access token is invalid, expired, revoked or of another application, or the operator key is wrong.',
  40103: 'The login failed.',
  40104: 'There is no application with this app_id.',
  40301: 'The role of the token may not do this.',
  40302: 'The header user_id or group_id is not allowed for this token.',
  40303:
    'The console session came without the header x-herald-console, or the request comes from another site.',
  40401: 'The path or the resource (task, certificate, user, device, group) does not exist.',
  40501: 'The path exists, but not with this method; the header Allow names those it has.',
  40801: 'The body did not arrive in time.',
  40901: 'It already exists (username, mobile, email, group, application name).',
  40902: 'The task has ended and can no longer be changed.',
  41301: 'The body is too large: 1 MiB for notify and explain, 4 MiB for callbacks, 64 KiB for the rest.',
  42901: 'The rate limit of the caller is reached; Retry-After says when to try again.',
  42902: 'Too many logins have failed for this name; Retry-After says when to try again.',
  43101: 'The headers of the request are too large.',
  50001: 'An internal error; the log of the service tells more under the x-request-id of the answer.',
  50301: 'A store is unreachable, or more pushes wait than can be written; nothing was accepted.',
} as const

export type Code = keyof typeof codes

export function statusOf(code: Code): number {
  return Math.floor(code / 100)
}

/** An answer that is not a success. The message goes to the caller: one sentence that leaks nothing. */
export class Failure extends Error {
  readonly code: Code
  /** Seconds. */
  readonly retryAfter?: number

  constructor(code: Code, message: string, options: { retryAfter?: number } = {}) {
    super(message)
    this.code = code
    this.retryAfter = options.retryAfter
  }
}
