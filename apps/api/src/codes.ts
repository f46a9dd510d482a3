/**
 * All failure codes: the first three digits are the HTTP status, the last two the reason. The documentation is generated
 * from this table.
 */
export const codes = {
  40001: 'The body is not valid JSON, is not an object, or has an unknown field.',
  40002: 'A field, header or query parameter has the wrong type, range or shape.',
  40003:
    'The audience is blank, is neither `all` nor an object, does not have exactly one non-blank key, or has more than 500 items.',
  40004: 'The message is blank: all fields are blank, or only `type` is set, to text or image.',
  40005: 'The header app_id is missing.',
  40101: 'The access token, or the operator key, is missing.',
  40102:
    'The access token is invalid, expired, revoked or belongs to another application, or the operator key is wrong.',
  40103: 'The login failed.',
  40104: 'No application has this app_id.',
  40301: 'The role of the token may not do this.',
  40302: 'The header user_id or group_id is not allowed for this token.',
  40303: 'A console session was used without the header x-herald-console, or from another site.',
  40401: 'The path or the resource (task, certificate, user, device, group, webhook) does not exist.',
  40501: 'The path does not support this method; the header Allow lists those it supports.',
  40801: 'The body did not arrive in time.',
  40901:
    'The username, mobile number, email, device_guid, or name of the group, application or webhook is already in use.',
  40902: 'The task has ended and can no longer be changed.',
  40903:
    'The task cannot be recalled: it is a recall itself, was not sent, or was sent through channels that cannot.',
  41301:
    'The body is too large. The limit is 1 MiB for /push/notify, /push/explain, /push/task/recall, /push/audience/count and /admin/tag/member, 4 MiB for callbacks and for batches of pushes or devices, 64 KiB otherwise; an import has no limit, only 64 KiB per line.',
  42901:
    'The caller exceeded its rate limit, too many calls of its address were refused, or its application has too many large calls in progress; retry after the seconds in Retry-After. Each API process allows 100 calls per second for a user and 1,000 for an address without a token, and bursts of five times as many; admins have no such limit. Logins and registrations are limited by `HERALD_LOGINS_PER_SECOND` and `HERALD_REGISTRATIONS_PER_SECOND`.',
  42902:
    'Too many failed logins for this name, or failed logins or wrong operator keys from this address; retry after the seconds in Retry-After.',
  43101: 'The request headers are too large.',
  50001:
    'Internal error, so the call may have been carried out; details are in the log of the service, under the x-request-id of the response.',
  50201:
    'Sent by the provided configurations of nginx and Caddy: Herald could not be reached, or its response was lost, so the call may have been carried out. Retry after the seconds in Retry-After; a push with the same `request_id` is sent only once.',
  50301:
    'The database is unreachable, or too many calls wait or are in progress. Nothing of a push was accepted. Imports, batches of devices, changes of a tag’s devices and erasures may have been carried out in part: repeat them, that is safe.',
} as const

export type Code = keyof typeof codes

export function statusOf(code: Code): number {
  return Math.floor(code / 100)
}

/** A failure to send to the caller. The message is one sentence and must not leak internals. */
export class Failure extends Error {
  readonly code: Code
  /** In seconds. */
  readonly retryAfter?: number

  constructor(code: Code, message: string, options: { retryAfter?: number } = {}) {
    super(message)
    this.code = code
    this.retryAfter = options.retryAfter
  }
}
