import { type Certificate, CertificateProblem, type ChannelAdapter } from '@herald/channels'
import type { CertificatePlace } from '@herald/db/certificates'
import {
  cardOf,
  channelOfProvider,
  environmentOf,
  publicName,
  regionProblem,
  type VendorChannel,
  vendorChannels,
} from '@herald/domain'
import { Failure } from '../codes.ts'
import { environment, optional, provider, region } from '../input/fields.ts'
import type { RouteContext } from '../route.ts'

export const environmentNames = '0 = development, 1 = production; default 1.'

const withRegions = vendorChannels.flatMap((channel) => {
  const { regions, title } = cardOf(channel)
  return regions ? [title.en] : []
})
export const vendorsWithRegions = `${withRegions.slice(0, -1).join(', ')} and ${withRegions.at(-1)}`
export const regionNotice = `For ${vendorsWithRegions}; default: the only record of the environment, or the one for cn.`

const withTopics = vendorChannels.flatMap((channel) => {
  const { topicPerBinding, title } = cardOf(channel)
  return topicPerBinding ? [title.en] : []
})
/** What the fields of a binding mean. */
export const bindingTexts = {
  bundleId: `The topic, for ${withTopics.join(', ')} certificates with several topics.`,
  region: `Region of the certificate that sends to the token, for ${vendorsWithRegions}; default: the only one with a certificate, or cn. Not needed for tokens that contain their region.`,
}

/** The fields of a body that name provider and environment. */
export const place = {
  provider,
  environment: optional(environment).describe(environmentNames),
}

/** The fields of a body that identify a certificate. */
export const placeInRegion = { ...place, region: optional(region).describe(regionNotice) }

export function placeOf(
  { appId }: RouteContext,
  input: { provider: number; environment?: number; region?: string },
): CertificatePlace {
  const channel = channelOfProvider(input.provider)!
  return {
    application: appId,
    channel,
    environment: environmentOf(input.environment ?? 1),
    region: checkRegion(channel, input.region),
  }
}

/** Returns the region if the vendor has it. */
export function checkRegion(channel: VendorChannel, region: string | undefined): string | undefined {
  const problem = region === undefined ? undefined : regionProblem(channel, region)
  if (problem) throw new Failure(40002, `region ${problem}.`)
  return region
}

export function unconfigured({ channel, environment, region }: CertificatePlace): Failure {
  const where = region === undefined ? '' : ` for the region ${region}`
  return new Failure(40401, `No ${environment} certificate${where} is saved for ${publicName(channel)}.`)
}

export function adapterOf({ deps }: RouteContext, channel: VendorChannel): ChannelAdapter {
  const adapter = deps.adapters[channel]
  if (!adapter)
    throw new Failure(40002, `provider: this installation does not support ${publicName(channel)}.`)
  return adapter
}

export function readSettings(adapter: ChannelAdapter, certificate: Certificate): unknown {
  try {
    return adapter.readSettings(certificate)
  } catch (error) {
    throw asFailure(error)
  }
}

/** Checks an uploaded certificate. Returns when it expires (Unix ms), if it does. */
export async function checkUpload(
  { deps }: RouteContext,
  adapter: ChannelAdapter,
  certificate: Certificate,
): Promise<number | undefined> {
  // Without a file there is nothing to decode.
  if (!certificate.certificate) {
    const settings = readSettings(adapter, certificate)
    return adapter.expiresAt?.(settings)
  }
  try {
    return await deps.uploads.check(certificate)
  } catch (error) {
    throw asFailure(error)
  }
}

/** Turns a complaint about a certificate into a failure for the caller. */
function asFailure(error: unknown): unknown {
  return error instanceof CertificateProblem
    ? new Failure(40002, `${error.message.replace(/\.$/, '')}.`)
    : error
}
