import { cardOf, type VendorChannel, vendorChannels } from './channel-names.ts'

/** The regions of all vendors. */
export const regionNames: readonly string[] = [
  ...new Set(vendorChannels.flatMap((channel) => cardOf(channel).regions ?? [])),
]

/** The region of records and bindings that name none; undefined for vendors without regions. */
export function usualRegion(channel: VendorChannel): string | undefined {
  return cardOf(channel).regions?.[0]
}

/** The region of a certificate by its `extra`; undefined for vendors without regions. */
export function regionOfExtra(channel: VendorChannel, extra: Record<string, unknown>): string | undefined {
  const { regions } = cardOf(channel)
  return regions?.find((region) => region === extra.region) ?? regions?.[0]
}

/** Returns why a vendor has no such region, as the second half of a sentence; undefined if it has. */
export function regionProblem(channel: VendorChannel, region: string): string | undefined {
  const { regions, title } = cardOf(channel)
  if (!regions) return `is not used for ${title.en}, which has no regions`
  return regions.includes(region) ? undefined : `must be one of ${regions.join(', ')}`
}

/**
 * The region to store with a binding: as the token tells, otherwise as the caller named it. Undefined if a token is of the usual
 * region, because that is almost every token.
 */
export function regionOfBinding(
  channel: VendorChannel,
  ofToken: string | undefined,
  named: string | undefined,
): string | undefined {
  if (ofToken === undefined) return named
  return ofToken === usualRegion(channel) ? undefined : ofToken
}

/**
 * Picks the certificate of a region from those that an application has for one environment of a vendor, by region. A binding
 * without a region was not asked for one: it uses the usual region, or the only other one that has a certificate.
 */
export function pickRegion<Certificate>(
  channel: VendorChannel,
  certificates: ReadonlyMap<string | undefined, Certificate>,
  region: string | undefined,
): Certificate | undefined {
  const found = certificates.get(region ?? usualRegion(channel))
  if (found !== undefined) return found
  if (region !== undefined && !cardOf(channel).credentialOfAllRegions) return undefined
  const usual = certificates.get(usualRegion(channel))
  if (usual !== undefined) return usual
  return certificates.size === 1 ? certificates.values().next().value : undefined
}
