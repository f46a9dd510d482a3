/** Attempts, one per device: those that the vendor decided, and those that it did not. */
export type Attempts = { answered: number; unanswered: number }

/** `failing`: at least half of the attempts get no decision. `refused`: the vendor refuses all credentials. `unused`: nothing was sent for a day. */
export const channelStates = ['working', 'failing', 'refused', 'unused'] as const
export type ChannelState = (typeof channelStates)[number]

/** From this share of attempts without a decision on, a channel counts as failing. */
const FAILING_SHARE = 0.5

/** The share of attempts that the vendor did not decide, 0 to 1; undefined without attempts. */
export function failingShare({ answered, unanswered }: Attempts): number | undefined {
  const all = answered + unanswered
  return all === 0 ? undefined : unanswered / all
}

/** `recovered`: something was sent after the last error. */
export type RecentAttempts = { minute: Attempts; tenMinutes: Attempts; recovered: boolean }

/** The last minute decides if something was tried in it. A vendor that has recovered is not failing, although its errors are recent. */
export function isFailing(figures: RecentAttempts): boolean {
  if (figures.recovered) return false
  const share = failingShare(figures.minute) ?? failingShare(figures.tenMinutes)
  return share !== undefined && share >= FAILING_SHARE
}

/** The state of a channel with all its certificates; the native channel has none. */
export function channelState(channel: {
  certificates: readonly { state: 'open' | 'closed' | 'suspect'; breaker: unknown }[]
  isFailing: boolean
  wasUsed: boolean
}): ChannelState {
  const { certificates, isFailing, wasUsed } = channel
  if (certificates.length > 0 && certificates.every(({ state }) => state === 'closed')) return 'refused'
  const usable = certificates.filter(({ state }) => state !== 'closed')
  if (isFailing || (usable.length > 0 && usable.every(({ breaker }) => breaker))) return 'failing'
  return wasUsed ? 'working' : 'unused'
}
