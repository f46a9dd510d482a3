import { type StoredCertificate, shownHealth } from '@herald/db/certificates'
import { asSentence, cardOf, healthWarnings, type Reason, type ShownHealth } from '@herald/domain'
import type { ReadCertificate } from '@herald/plan'
import type { ApiDeps } from '../deps.ts'
import { dayOf } from '../output/fields.ts'
import { callsBack, receiptUrlOf } from './receipt-url.ts'

const WARN_MS = 30 * 86_400_000

type Found = {
  health: ShownHealth
  /** With the settings, or the problem if they cannot be read. */
  read: ReadCertificate | { problem: Reason }
  now: number
}

/** Sentences on what needs attention, the urgent ones first. */
export function warningsOf(deps: ApiDeps, stored: StoredCertificate, { health, read, now }: Found): string[] {
  return [
    ...('problem' in read ? [`Nothing is sent with it: ${asSentence(read.problem.text)}`] : []),
    ...healthWarnings(cardOf(stored.channel).title.en, health),
    ...expiryWarning(stored.expiresAt, now),
    ...('settings' in read ? (read.adapter.warnings?.(read.settings) ?? []) : []),
    ...unusedWarning(stored),
    ...(callsBack(deps, stored) ? callbackWarning(deps.publicUrl, receiptUrlOf(deps, stored)) : []),
  ]
}

/** The warnings of a certificate that was just saved: nothing is known about it yet but its settings. */
export async function warningsOfSaved(deps: ApiDeps, saved: StoredCertificate): Promise<string[]> {
  const read = (await deps.certificates.of(saved.application)).byId(saved.id)
  const now = Date.now()
  return warningsOf(deps, saved, { health: shownHealth({ holds: [] }, now), read, now })
}

function expiryWarning(expiresAt: number | undefined, now: number): string[] {
  if (expiresAt === undefined || expiresAt - now > WARN_MS) return []
  const day = dayOf(expiresAt)
  return [expiresAt <= now ? `The certificate expired on ${day}.` : `The certificate expires on ${day}.`]
}

/** A secret may have been pasted into the wrong field. */
function unusedWarning({ channel, appId, appKey, appSecret, certificate }: StoredCertificate): string[] {
  const { title, credentials } = cardOf(channel)
  const used = new Set<string>(credentials.flatMap(({ fields }) => fields.map(({ to }) => to)))
  return Object.entries({ app_id: appId, app_key: appKey, app_secret: appSecret, certificate })
    .filter(([field, value]) => value !== '' && !used.has(field))
    .map(([field]) => `${field} is not used by ${title.en}; leave it blank.`)
}

function callbackWarning(publicUrl: string | undefined, callbackUrl: string | undefined): string[] {
  if (callbackUrl !== undefined) return []
  return [
    publicUrl === undefined
      ? 'HERALD_PUBLIC_URL is not set, so no receipts are requested.'
      : 'HERALD_PUBLIC_URL is too long: the callback URL would exceed 128 bytes, so no receipts are requested.',
  ]
}
