import { startCuttableProxy } from './cuttable-proxy.ts'

/** `patienceMs`: see startCuttableProxy. */
export type LinkTarget = { port: number; patienceMs?: number }
export type HostLinksRequest = { ask: 'cut' | 'restore'; host: string }
/** The ports of each host's proxies, in the order of the targets. */
export type HostLinksReady = Record<string, number[]>

// Run by host-links.ts: `host-links-process.ts <JSON of the hosts' names> <JSON of the targets>`.
const [names = '[]', list = '[]'] = process.argv.slice(2)
const hosts = JSON.parse(names) as string[]
const targets = JSON.parse(list) as LinkTarget[]
const proxies = new Map(
  await Promise.all(
    hosts.map(
      async (host) =>
        [
          host,
          await Promise.all(targets.map(({ port, patienceMs }) => startCuttableProxy(port, patienceMs))),
        ] as const,
    ),
  ),
)

process.on('message', ({ ask, host }: HostLinksRequest) => {
  for (const proxy of proxies.get(host) ?? []) proxy[ask]()
  process.send!('done')
})
process.on('disconnect', () => process.exit())
const ready: HostLinksReady = Object.fromEntries(
  [...proxies].map(([host, all]) => [host, all.map(({ port }) => port)]),
)
process.send!(ready)
