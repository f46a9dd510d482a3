import { type Certificate, CertificateProblem, type ChannelAdapter } from '@herald/channels'
import type { CertificatePlace } from '@herald/db/certificates'
import { channelOfProvider, environmentOf, publicName, type VendorChannel } from '@herald/domain'
import { Failure } from '../codes.ts'
import { environment, optional, provider } from '../input/fields.ts'
import type { RouteContext } from '../route.ts'

export const environmentNames = '0 = development, 1 = production; default 1.'

/** The fields of a body that identify a certificate. */
export const place = {
  provider,
  environment: optional(environment).describe(environmentNames),
}

export function placeOf(
  { appId }: RouteContext,
  input: { provider: number; environment?: number },
): CertificatePlace {
  return {
    application: appId,
    channel: channelOfProvider(input.provider)!,
    environment: environmentOf(input.environment ?? 1),
  }
}

export function unconfigured({ channel, environment }: CertificatePlace): Failure {
  return new Failure(40401, `No ${environment} certificate is saved for ${publicName(channel)}.`)
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
