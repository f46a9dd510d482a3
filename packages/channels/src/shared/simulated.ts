import { type Card, cards } from '../cards.ts'
import type { Certificate, TransportDeps } from '../channel.ts'
import { joinUrl, parseObject } from './http.ts'

const LIMIT_MS = 3000

/**
 * Whether a simulator answers in place of the vendor: an address that the certificate calls is not the vendor's own, and the routes
 * of our simulators are served there. A vendor's own address is never asked.
 */
export async function isSimulated(
  { channel, environment, region }: Pick<Certificate, 'channel' | 'environment'> & { region?: string },
  { urls, proxy, ca }: Pick<TransportDeps, 'urls' | 'proxy' | 'ca'>,
): Promise<boolean> {
  const { addresses, regions }: Card = cards.find(({ name }) => name === channel)!
  const isAbroad = region !== undefined && region !== regions?.[0]
  const set: Readonly<Record<string, string | undefined>> = urls
  const changed = Object.entries(addresses).flatMap(([name, address]) => {
    const base = set[name]
    const isCalled =
      (address.environment ?? environment) === environment && Boolean(address.region) === isAbroad
    return isCalled && base !== undefined && base !== address.url ? [base] : []
  })
  if (changed.length === 0) return false
  const { openHttpClient } = await import('./http-client.ts')
  const http = openHttpClient({ proxy, ca, timeoutMs: LIMIT_MS, maxBytes: 4096 })
  try {
    const answers = await Promise.all(
      [...new Set(changed)].map(async (base) => {
        try {
          const { status, text } = await http.call({ method: 'GET', url: joinUrl(base, '/_sim/requests') })
          return status === 200 && typeof parseObject(text)?.requests === 'number'
        } catch {
          return false
        }
      }),
    )
    return answers.includes(true)
  } finally {
    await http.close()
  }
}
