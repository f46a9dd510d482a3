import { isNever } from './recovery.ts'

/**
 * Why a device failed, moved, expired, was cancelled or got its channel. The code is a key: it groups failures in the database
 * and labels metrics. The text is for readers and may be reworded at any time.
 *
 * Codes are `herald.<name>` for Herald's own reasons, of which `ownReasons` has all, and `<public name of the channel>.<vendor's
 * code>` for those of vendors, with `.<detail>` behind it if the code alone has several meanings.
 */
export type Reason = { code: string; text: string }

type Texts = Record<string, string | ((...details: never[]) => string)>

/** Unix ms. */
type Closed = { lastError?: string; closedAt?: number; probeAt?: number }
type Silent = { openedAt: number; text: string; retryAt: number }

/** The next probe of a certificate that is not probed is left out. */
function at(word: string, ms: number | undefined): string {
  if (ms === undefined || isNever(ms)) return ''
  return `${word} ${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

const texts = {
  // Why a channel was selected.
  online: 'the device is online on the native channel',
  first_in_sequence: 'first usable binding in ospush_sequence',
  only_channel_of_platform: (channel: string) =>
    `an iOS device with a token of ${channel} always uses ${channel}`,
  waiting_for_channel: (unavailable: Reason) =>
    `${unavailable.text}; no other channel can take the device, so it waits`,
  offline_to_inbox: 'the device is offline, so the message waits in its inbox',
  no_vendor_to_inbox: 'no vendor can take the device, so the message waits in its inbox',

  // Why a channel was not selected.
  native_first: 'the device is online, so the native channel comes first',
  other_channel_first: (channel: string) => `${channel} comes before it`,
  already_tried: 'it was already tried',
  not_in_sequence: 'it is not listed in ospush_sequence',
  other_platform: (channel: string) => `${channel} serves iOS devices only`,
  nativepush_only: 'the strategy nativepush_only uses no vendor channel',
  ospush_only: 'the strategy ospush_only uses vendor channels only',
  device_offline: 'the device is not online',
  device_away: 'the app of the device is in the background',

  // Why a device gets no channel at all.
  device_unknown: 'the device does not exist',
  offline_not_stored: 'the device is offline and the message may not be stored',
  no_vendor_token: 'the device has no vendor token',
  no_usable_token: 'none of the device’s vendor tokens can be used',

  // Certificates.
  no_certificate: (channel: string, environment: string, region?: string) =>
    `${channel} has no ${environment} certificate${region ? ` for the region ${region}` : ''}`,
  certificate_removed: 'the certificate was removed',
  certificate_invalid: (problem: string) => problem,
  certificate_closed: (channel: string, { lastError, closedAt, probeAt }: Closed = {}) =>
    `${channel} is disabled${at(' since', closedAt)}: the vendor refuses its credentials${lastError ? ` (${lastError})` : ''}${at(', next check at', probeAt)}`,
  vendor_silent: (channel: string, { openedAt, text, retryAt }: Silent) =>
    `${channel} has not answered${at(' since', openedAt)} (${text})${at(', next attempt at', retryAt)}`,
  push_certificate_expired: (day: string) => `the push certificate expired on ${day}`,
  push_certificate_refused: 'TLS: the push certificate was refused',
  service_account_needed: 'a HarmonyOS device needs a service account in the certificate',
  bundle_id_not_listed: 'the bundle id of the binding is not in extra.bundle_ids of the certificate',
  channel_not_installed: (channel: string) => `${channel} is not part of this installation`,

  // Messages and tokens.
  unsupported_by_vendor: (channel: string, problem: string) =>
    `${channel} cannot carry this message: ${problem}`,
  payload_unbuildable: (channel: string, error: string) =>
    `${channel} cannot carry this message: payload could not be built (${error})`,
  token_removed: 'the device no longer has a token on this channel',
  token_malformed: (problem: string) => problem,
  no_activity_token: 'the device has no token of this Live Activity, or none to start one',
  newer_activity_update: 'a newer update of the same Live Activity was sent',
  environment_changed: 'the token now belongs to another environment',
  region_changed: 'the token now belongs to another region',
  owner_changed: 'the device belongs to another user or alias now',
  device_removed: 'the device was removed',
  device_disabled: 'the device is disabled',
  acknowledged_on_native: 'the device acknowledged on the native channel',
  device_disconnected: 'the device was no longer connected',
  device_not_reached: 'the device was not reached in time',

  // Calls to vendors.
  outside_hours: 'outside the hours that the vendor allows',
  quota_used_up: 'daily quota used up',
  // The limit is the vendor's, or the application's own.
  device_daily_limit: (max: number) => `the device has had its ${max} marketing messages of the day`,
  vendor_timeout: (problem: string) => problem,
  vendor_unreachable: (problem: string) => problem,
  vendor_reply_unreadable: (problem: string) => problem,
  no_result: 'the vendor did not answer',
  call_failed: (error: string) => `the call failed: ${error}`,
  attempts_lost: 'ten attempts in a row ended without a result',

  // Why a recipient waits after an attempt without an answer of the vendor.
  rate_limited: 'delayed by the rate that the vendor allows',
  vendor_busy: 'waits for earlier calls, to which the vendor has not answered yet',
  worker_stopping: 'the worker was stopped before it could send',
  session_unavailable: 'the access token of the vendor could not be read',

  // Why a recipient waits, if no attempt has given a reason.
  task_paused: 'the task is paused',
  speed_limited: 'delayed by the speed limit of the task',
  waiting_for_turn: 'waits for its turn',
  being_sent: 'is being sent',

  // The end of a task.
  task_cancelled: 'the task was cancelled',
  planning_failed: 'the task could not be planned before its deadline',
  expired_waiting: 'expired while waiting to be sent',
  expired_waiting_for_vendor: 'expired while the vendor was throttling or unavailable',
  expired_paused: 'expired while the task was paused',
  expired_channel_disabled: 'expired while the channel was disabled',
  expired_speed_limit: 'expired while delayed by the speed limit of the task',
  expired_in_inbox: 'expired while waiting for the device to connect',
  inbox_full: 'pushed out of the inbox by newer messages',
  inbox_cleared: 'the device was removed, disabled, or belongs to another user or alias now',
} as const satisfies Texts

export type OwnReasonName = keyof typeof texts

type OwnReasons = {
  readonly [Name in OwnReasonName]: (typeof texts)[Name] extends (...details: infer Details) => string
    ? (...details: Details) => Reason
    : Reason
}

const own = 'herald.'

/** All of Herald's own reasons; those whose text has details are functions. */
export const ownReasons = Object.fromEntries(
  Object.entries<Texts[string]>(texts).map(([name, text]) => {
    const code = own + name
    return [
      name,
      typeof text === 'string'
        ? Object.freeze({ code, text })
        : (...details: never[]): Reason => ({ code, text: text(...details) }),
    ]
  }),
) as OwnReasons

export const ownReasonNames = Object.keys(texts) as OwnReasonName[]

/** A vendor's reason; `code` without the channel. */
export function vendorReason(channelName: string, code: string, text: string): Reason {
  return { code: `${channelName}.${code}`, text }
}

/** Returns the vendor's code without channel and detail; undefined for Herald's own reasons. */
export function vendorCodeOf({ code }: Pick<Reason, 'code'>): string | undefined {
  return code.startsWith(own) ? undefined : code.split('.', 2)[1]
}

/** Returns the reason as one text, with the vendor's code if the text does not contain it. */
export function describeReason(reason: Reason): string {
  const code = vendorCodeOf(reason)
  const { text } = reason
  return !code || text.toLowerCase().replaceAll(' ', '_').includes(code.toLowerCase())
    ? text
    : `${code} ${text}`
}
