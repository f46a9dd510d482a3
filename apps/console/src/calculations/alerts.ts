import { expiryOf } from './expiry.ts'

/** From the most to the least urgent. Nothing is sent through a channel of the first three. */
const alertKinds = ['closed', 'expired', 'silent', 'failing', 'held', 'soon'] as const
export type AlertKind = (typeof alertKinds)[number]

/** Channels with the same problem. */
export type ChannelAlert = {
  kind: AlertKind
  channels: { channel: string; appId: string }[]
}

const urgent: readonly AlertKind[] = ['closed', 'expired', 'silent', 'failing']
export const isUrgent = (kind: AlertKind) => urgent.includes(kind)

/** The part of the overview that this reads. */
type Channels = { channels: readonly { channel: string; certificates: readonly Certificate[] }[] }
type Certificate = {
  app_id: string
  state: string
  expires_at: number | null
  breaker: object | null
  failing: boolean
  held: readonly string[]
}

/** The most urgent problem of each certificate, grouped by problem. `now` is in Unix seconds. */
export function alertsOf({ channels }: Channels, now: number): ChannelAlert[] {
  const found = new Map<AlertKind, ChannelAlert['channels']>()
  for (const { channel, certificates } of channels)
    for (const certificate of certificates) {
      const kind = alertOf(certificate, now)
      if (kind === undefined) continue
      const list = found.get(kind) ?? []
      const { app_id: appId } = certificate
      // A channel may have a certificate per environment and region.
      if (!list.some((known) => known.channel === channel && known.appId === appId))
        list.push({ channel, appId })
      found.set(kind, list)
    }
  return alertKinds.flatMap((kind) => {
    const list = found.get(kind)
    return list ? [{ kind, channels: list }] : []
  })
}

function alertOf(certificate: Certificate, now: number): AlertKind | undefined {
  if (certificate.state === 'closed') return 'closed'
  const expiry = expiryOf(certificate.expires_at, now).kind
  if (expiry === 'expired') return 'expired'
  if (certificate.breaker) return 'silent'
  if (certificate.failing) return 'failing'
  if (certificate.held.length > 0) return 'held'
  return expiry === 'soon' ? 'soon' : undefined
}

/** By application: its channels, and those with an urgent problem. */
export function channelsByApplication(
  { channels }: Channels,
  now: number,
): Map<string, { total: number; problems: number }> {
  const found = new Map<string, { total: number; problems: number }>()
  for (const { certificates } of channels) {
    const problems = new Map<string, boolean>()
    for (const certificate of certificates) {
      const kind = alertOf(certificate, now)
      const known = problems.get(certificate.app_id) ?? false
      problems.set(certificate.app_id, known || (kind !== undefined && isUrgent(kind)))
    }
    for (const [appId, isBad] of problems) {
      const sums = found.get(appId) ?? { total: 0, problems: 0 }
      found.set(appId, { total: sums.total + 1, problems: sums.problems + (isBad ? 1 : 0) })
    }
  }
  return found
}
