import { type Certificate, CertificateProblem, type ChannelAdapter } from '@herald/channels'
import type { CertificatePlace } from '@herald/db/certificates'
import { environmentOf } from '@herald/db/store'
import { channelOfProvider, publicName, type VendorChannel } from '@herald/domain'
import { Failure } from '../codes.ts'
import { environment, optional, provider } from '../input/fields.ts'
import type { Context } from '../route.ts'

export const environmentNames = '0 = development, 1 = production; default 1.'

/** What names a certificate in a body. */
export const place = {
  provider,
  environment: optional(environment).describe(environmentNames),
}

export function placeOf(
  { appId }: Context,
  input: { provider: number; environment?: number },
): CertificatePlace {
  return {
    application: appId,
    channel: channelOfProvider(input.provider)!,
    environment: environmentOf(input.environment ?? 1),
  }
}

export function unconfigured({ channel, environment }: CertificatePlace): Failure {
  return new Failure(40401, `There is no ${environment} certificate for ${publicName(channel)}.`)
}

export function adapterOf({ deps }: Context, channel: VendorChannel): ChannelAdapter {
  const adapter = deps.adapters[channel]
  if (!adapter) throw new Failure(40002, `provider: ${publicName(channel)} is not part of this installation.`)
  return adapter
}

/** The vendor's complaint about a certificate is the caller's to mend. */
export function readSettings(adapter: ChannelAdapter, certificate: Certificate): unknown {
  try {
    return adapter.readSettings(certificate)
  } catch (error) {
    if (error instanceof CertificateProblem) throw new Failure(40002, `${error.message.replace(/\.$/, '')}.`)
    throw error
  }
}
