import { startChild } from '../child.ts'
import type { HostLinksReady, HostLinksRequest, LinkTarget } from './host-links-process.ts'
import type { QueueKind } from './schedule.ts'

export type HostLinks = {
  /** Settings with which the program of this host connects through its own proxies. */
  envOf(host: string): Record<string, string>
  cut(host: string): Promise<void>
  restore(host: string): Promise<void>
  stop(): Promise<void>
}

/** When Postgres ends a silent session: keepalives after 10 s, then three of them, 5 s apart (`sessionLimits`). */
const POSTGRES_PATIENCE_MS = 25_000

/**
 * Gives every program a host of its own: its connections to Postgres and to the queue go through proxies that can drop them. A
 * program gets the addresses behind Sentinels and of a Cluster from the servers themselves, so there only Postgres has a proxy.
 */
export async function startHostLinks(
  hosts: readonly string[],
  addresses: { databaseUrl: string; queueUrl: string; queue: QueueKind },
): Promise<HostLinks> {
  const { databaseUrl, queueUrl, queue } = addresses
  const targets: LinkTarget[] = [{ port: portOf(databaseUrl), patienceMs: POSTGRES_PATIENCE_MS }]
  // Redis sends its first keepalive after 300 s.
  if (queue === 'redis') targets.push({ port: portOf(queueUrl) })
  const file = new URL('./host-links-process.ts', import.meta.url)
  const child = await startChild<HostLinksRequest, unknown, HostLinksReady>(file, [
    JSON.stringify(hosts),
    JSON.stringify(targets),
  ])
  return {
    envOf(host) {
      const [postgres = 0, redis = 0] = child.ready[host] ?? []
      const ofQueue = { redis: redis, postgres, sentinel: undefined, cluster: undefined }[queue]
      return {
        DATABASE_URL: withPort(databaseUrl, postgres),
        QUEUE_URL: ofQueue === undefined ? queueUrl : withPort(queueUrl, ofQueue),
      }
    },
    cut: async (host) => void (await child.ask({ ask: 'cut', host })),
    restore: async (host) => void (await child.ask({ ask: 'restore', host })),
    stop: child.stop,
  }
}

const portOf = (url: string) => Number(new URL(url).port)

function withPort(url: string, port: number): string {
  const address = new URL(url)
  address.port = String(port)
  return address.href
}
