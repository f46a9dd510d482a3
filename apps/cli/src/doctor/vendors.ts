import { rootCertificates } from 'node:tls'
import type { CertificateHealth } from '@herald/db/readings'
import { publicName, type VendorChannel, vendorChannels } from '@herald/domain'
import { reach } from '@herald/http2'
import type { Settings } from '@herald/settings'
import { reasonOf } from '../failure.ts'
import type { Finding } from './finding.ts'

const LIMIT_MS = 5_000

/** A host to try, and how much hangs on it. */
export type Host = { name: string; url: string; channel: VendorChannel; needed: boolean; simulated: boolean }
export type Reached = Host & { ms: number; problem?: string }

/**
 * Every base address that programs would call; for a simulated vendor its simulator stands for all its hosts. One whose
 * channel has no certificate, or that only serves another region, is no failure. Pure.
 */
export function hostsOf(
  urls: Settings['vendorUrls'],
  simulators: Record<string, string>,
  certificates: readonly CertificateHealth[],
): Host[] {
  const isUsed = (channel: VendorChannel, environment?: CertificateHealth['environment']) =>
    certificates.some(
      (one) => one.channel === channel && (environment === undefined || one.environment === environment),
    )
  const simulated = vendorChannels.flatMap((channel): Host[] => {
    const url = simulators[publicName(channel)]
    return url ? [{ name: channel, url, channel, needed: isUsed(channel), simulated: true }] : []
  })
  const real = Object.entries(urls).flatMap(([name, url]): Host[] => {
    const channel = vendorChannels.find((one) => name.startsWith(one))!
    if (simulated.some((host) => host.channel === channel)) return []
    const environment = name === 'apns' ? 'production' : name === 'apnsSandbox' ? 'development' : undefined
    return [
      {
        name,
        url,
        channel,
        needed: !name.endsWith('Intl') && isUsed(channel, environment),
        simulated: false,
      },
    ]
  })
  return [...simulated, ...real]
}

/** Connects and shakes hands, as a worker would: through the proxy, trusting what it trusts. */
export async function reachVendors(hosts: Host[], { proxy, vendorCa }: Settings): Promise<Reached[]> {
  return Promise.all(
    hosts.map(async (host) => {
      const began = performance.now()
      const tls = host.simulated
        ? // The simulator's authority lives in the memory of the standalone.
          { rejectUnauthorized: false }
        : vendorCa
          ? { ca: [...rootCertificates, vendorCa] }
          : {}
      const abort = AbortSignal.timeout(LIMIT_MS)
      try {
        await reach(host.url, { tls, proxy: host.simulated ? undefined : proxy, abort })
        return { ...host, ms: performance.now() - began }
      } catch (error) {
        const problem = abort.aborted ? `no answer within ${LIMIT_MS / 1000} s` : reasonOf(error)
        return { ...host, ms: performance.now() - began, problem }
      }
    }),
  )
}

export function judgeVendors(reached: readonly Reached[], throughProxy: boolean): Finding[] {
  return reached.map((host): Finding => {
    const name = `${host.name} ${new URL(host.url).host}`
    if (host.problem === undefined) {
      const way = host.simulated ? ', simulated' : throughProxy ? ' through the proxy' : ''
      return { area: 'vendors', state: 'ok', what: `${name}: reached in ${Math.round(host.ms)} ms${way}` }
    }
    return {
      area: 'vendors',
      state: host.needed ? 'fail' : 'warn',
      what: `${name}: ${host.problem}${host.needed ? '' : ' (no certificate needs it)'}`,
      ...(host.needed && {
        advice: 'open the way to it, or set HERALD_PROXY, HERALD_VENDOR_CA or its address',
      }),
    }
  })
}
