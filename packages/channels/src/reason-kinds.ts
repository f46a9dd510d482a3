export { type ReasonKind, reasonKindNames } from './card.ts'

import type { Card, ReasonKind } from './card.ts'
import { cards } from './cards.ts'

const kinds: ReadonlyMap<string, ReasonKind> = new Map(
  cards.flatMap((card: Card) =>
    Object.entries(card.reasonKinds).flatMap(([kind, codes]) =>
      codes.map((code) => [`${card.publicName ?? card.name}.${code}`, kind as ReasonKind] as const),
    ),
  ),
)

/** Statuses without a code of the vendor. */
function kindOfStatus(code: string): ReasonKind | undefined {
  const [, status] = /^(?:http|oauth)_(\d{3})$/.exec(code) ?? []
  if (status === undefined) return undefined
  if (status === '413' || status === '414' || status === '431') return 'too_large'
  return status === '429' ? 'too_fast' : 'vendor_trouble'
}

/** Returns what a vendor's reason means; undefined for Herald's own, and for codes that no table contains. */
export function reasonKindOf(code: string): ReasonKind | undefined {
  const [channel, word, ...details] = code.split('.')
  if (word === undefined) return undefined
  return (
    (details.length > 0 ? kinds.get(code) : undefined) ??
    kinds.get(`${channel}.${word}`) ??
    kindOfStatus(word)
  )
}
