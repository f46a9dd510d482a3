import { ownReasons, vendorCodeOf } from '@herald/domain'

/** Maximum number of codes per channel: a vendor that replies with ever new codes must not fill the metrics registry. */
const MAX_CODES = 60

/** Own codes that have a label; the others are `none`. */
const ownLabels: ReadonlyMap<string, string> = new Map([
  [ownReasons.vendor_timeout('').code, 'timeout'],
  [ownReasons.vendor_unreachable('').code, 'network'],
])

/** The label of a reason's code: the vendor's code without channel and detail. Codes after the first sixty of a channel are `other`. */
export function createCodeLabels(): (channel: string, code: string) => string {
  const known = new Map<string, Set<string>>()
  return (channel, code) => {
    const label = vendorCodeOf({ code }) ?? ownLabels.get(code) ?? 'none'
    const labels = known.get(channel) ?? new Set()
    known.set(channel, labels)
    if (labels.has(label)) return label
    if (labels.size >= MAX_CODES) return 'other'
    labels.add(label)
    return label
  }
}
