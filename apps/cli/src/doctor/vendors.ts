import { rootCertificates } from 'node:tls'
import type { CertificateHealth } from '@herald/db/readings'
import { cardOf, publicName, type VendorChannel, vendorChannels } from '@herald/domain'
import { reach } from '@herald/http2'
import type { Settings } from '@herald/settings'
import { reasonOf } from '../failure.ts'
import type { Finding } from './finding.ts'

const LIMIT_MS = 5_000

/** A host to check. `needed`: a certificate uses it, so a failure is an error. */
export type Host = { name: string; url: string; channel: VendorChannel; needed: boolean; simulated: boolean }
export type Reached = Host & { ms: number; problem?: string }

/**
 * All base URLs that the programs would call; a simulated vendor has its simulator instead. A host is needed if a certificate has
 * its channel, environment and region. Pure.
 */
export function hostsOf(
  urls: Settings['vendorUrls'],
  simulators: Record<string, string>,
  certificates: readonly CertificateHealth[],
): Host[] {
  const certificatesOf = (channel: VendorChannel) => certificates.filter((one) => one.channel === channel)
  const simulated = vendorChannels.flatMap((channel): Host[] => {
    const url = simulators[publicName(channel)]
    const needed = certificatesOf(channel).length > 0
    return url ? [{ name: channel, url, channel, needed, simulated: true }] : []
  })
  const called = vendorChannels.filter((channel) => !simulated.some((host) => host.channel === channel))
  const real = called.flatMap((channel) =>
    Object.entries(cardOf(channel).addresses).map(
      ([name, { region, environment }]): Host => ({
        name,
        url: urls[name as keyof typeof urls],
        channel,
        needed: certificatesOf(channel).some(
          (one) =>
            (environment === undefined || one.environment === environment) &&
            // A certificate of the usual region names none.
            (cardOf(channel).credentialOfAllRegions || Boolean(one.region) === Boolean(region)),
        ),
        simulated: false,
      }),
    ),
  )
  return [...simulated, ...real]
}

/** Connects with a TLS handshake like a worker: through the proxy, with the same certificate authorities. */
export async function reachVendors(hosts: Host[], { proxy, vendorCa }: Settings): Promise<Reached[]> {
  return Promise.all(
    hosts.map(async (host) => {
      const began = performance.now()
      const tls = host.simulated
        ? // The simulator's certificate authority is only in the memory of the standalone.
          { rejectUnauthorized: false }
        : vendorCa
          ? { ca: [...rootCertificates, vendorCa] }
          : {}
      const abort = AbortSignal.timeout(LIMIT_MS)
      try {
        await reach(host.url, { tls, proxy: host.simulated ? undefined : proxy, abort })
        return { ...host, ms: performance.now() - began }
      } catch (error) {
        const problem = abort.aborted ? `no response within ${LIMIT_MS / 1000} s` : reasonOf(error)
        return { ...host, ms: performance.now() - began, problem }
      }
    }),
  )
}

export function judgeVendors(reached: readonly Reached[], throughProxy: boolean): Finding[] {
  return reached.map((host): Finding => {
    const name = `${host.name} ${new URL(host.url).host}`
    if (host.problem === undefined) {
      const route = host.simulated ? ', simulated' : throughProxy ? ' through the proxy' : ''
      return { area: 'vendors', state: 'ok', what: `${name}: reached in ${Math.round(host.ms)} ms${route}` }
    }
    return {
      area: 'vendors',
      state: host.needed ? 'fail' : 'warn',
      what: `${name}: ${host.problem}${host.needed ? '' : ' (no certificate uses it)'}`,
      ...(host.needed && {
        advice: 'allow outbound connections to it, or set HERALD_PROXY, HERALD_VENDOR_CA or its URL',
      }),
    }
  })
}
