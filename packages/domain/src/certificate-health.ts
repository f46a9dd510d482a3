/** What is the matter with a certificate, as the HTTP interface shows it. Times are Unix seconds. */
export type ShownHealth = {
  /** Set while the vendor does not answer. */
  breaker: ShownBreaker | null
  /** Parts that the vendor refuses. */
  holds: readonly ShownHold[]
  /** Why the last check failed. */
  check_error: string | null
  check_error_at: number | null
}

export type ShownBreaker = { since: number; retry_at: number; code: string; reason: string }

export type ShownHold = {
  /** `class service`, `topic com.example.app`, `quota marketing`; `without receipts`: messages are sent without them. */
  scope: string
  kind: 'rejected' | 'quota'
  code: string
  /** The vendor's words. */
  reason: string
  since: number
  until: number
  /** False: it has ended; the next message of this part is sent. */
  active: boolean
}

/** English sentences. They depend on the record alone, so that a reader of the record can tell which of its warnings they are. */
export function healthWarnings(vendor: string, health: ShownHealth): string[] {
  const { breaker, holds, check_error: problem, check_error_at: at } = health
  return [
    ...(breaker ? [breakerWarning(vendor, breaker)] : []),
    ...holds.map((hold) => holdWarning(vendor, hold)),
    ...(problem === null
      ? []
      : [`The last check${at === null ? '' : `, at ${utc(at)},`} failed: ${asSentence(problem)}`]),
  ]
}

function breakerWarning(vendor: string, { since, retry_at, reason }: ShownBreaker): string {
  return `${vendor} has not answered since ${utc(since)}: ${asSentence(reason)} One batch is tried at ${utc(retry_at)}; the others wait.`
}

function holdWarning(vendor: string, hold: ShownHold): string {
  const { since, until, active } = hold
  const reason = asSentence(hold.reason)
  if (isLeftOut(hold)) {
    const part = partOf(hold)
    return active
      ? `${vendor} has refused ${part} since ${utc(since)}: ${reason} Messages are sent without ${part} until ${utc(until)}.`
      : `${vendor} has refused ${part}, first at ${utc(since)}: ${reason} The next message is sent with ${part} again.`
  }
  const messages = messagesOf(hold)
  if (hold.kind === 'quota')
    return active
      ? `The quota of ${vendor} for ${messages} has been used up since ${utc(since)}: ${reason} They take the device’s next channel, or wait, until ${utc(until)}; all others are sent.`
      : `The quota of ${vendor} for ${messages} was used up from ${utc(since)} to ${utc(until)}: ${reason}`
  return active
    ? `${vendor} has refused ${messages} since ${utc(since)}: ${reason} They are not sent until ${utc(until)}; all others are.`
    : `${vendor} has refused ${messages}, first at ${utc(since)}: ${reason} The next one is sent again.`
}

/** Whether messages are sent, without a part that the vendor refuses. */
export const isLeftOut = ({ scope }: Pick<ShownHold, 'scope'>) => scope.startsWith('without ')

/** What a hold concerns, without the words `quota` and `without`. */
export const partOf = ({ scope }: Pick<ShownHold, 'scope'>) => scope.replace(/^(quota|without) /, '')

function messagesOf(hold: ShownHold): string {
  const part = partOf(hold)
  return /\bmessages\b/.test(part) ? part : `messages of ${part}`
}

export const asSentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`)

/** To the minute. */
export function utc(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/**
 * `unchecked`: the vendor has accepted neither a message nor a check since the credentials were saved; `silent`: it does not answer;
 * `partial`: it refuses a part of the messages.
 */
export type CertificateCondition = 'sending' | 'unchecked' | 'partial' | 'silent' | 'suspect' | 'closed'

/** The worst of what is the matter. */
export function conditionOf(certificate: {
  state: 'open' | 'closed' | 'suspect'
  breaker: unknown
  holds: readonly Pick<ShownHold, 'active'>[]
  /** When the vendor last accepted the credentials; undefined if the record does not tell. */
  worked_at?: number | null
}): CertificateCondition {
  const { state, breaker, holds, worked_at } = certificate
  if (state === 'closed') return state
  if (breaker) return 'silent'
  if (state === 'suspect') return state
  if (holds.some(({ active }) => active)) return 'partial'
  return worked_at === null ? 'unchecked' : 'sending'
}
