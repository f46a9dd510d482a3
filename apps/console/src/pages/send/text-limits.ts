import { cards, type TextLimits } from '@herald/channels/cards'
import { cutCodePoints, cutText } from '@herald/channels/texts'

export type TextPart = 'title' | 'body' | 'bigText'
export type VendorName = (typeof cards)[number]['name']
type Vendor = { name: VendorName; texts: TextLimits }

/** The vendors that cut texts after a number of characters. */
const cuttingVendors: readonly Vendor[] = cards.flatMap((card) =>
  'texts' in card ? [{ name: card.name, texts: card.texts }] : [],
)

/** Characters as people count them: an emoji of several code points is one. */
export function lengthOf(text: string): number {
  let length = 0
  for (const _ of new Intl.Segmenter().segment(text)) length++
  return length
}

export type Cut = { vendor: VendorName; max: number }

/** The vendors that cut this text, with what they keep, the shortest first. */
export function cutsOf(text: string, part: TextPart): Cut[] {
  return cuttingVendors
    .flatMap(({ name, texts }) => {
      const max = texts[part]
      return max !== undefined && cutCodePoints(text.trim(), max, texts) !== text.trim()
        ? [{ vendor: name, max }]
        : []
    })
    .sort((a, b) => a.max - b.max)
}

/** The text as the vendor gets it. */
export function cutFor(vendor: VendorName, text: string, max: keyof Omit<TextLimits, 'utf16'>): string {
  const texts = cuttingVendors.find(({ name }) => name === vendor)?.texts
  const limit = texts?.[max]
  return limit === undefined ? text : cutText(text, limit, texts)
}
