import { randomBytes } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { vendorChannels } from '@herald/domain'
import { freePort } from '@herald/testkit'
import { type Balancer, startBalancer } from '../native/balancer.ts'
import type { Random } from './random.ts'
import type { Role } from './schedule.ts'
import { type Supervised, supervise } from './supervised.ts'

/** Who plays: every channel has two workers, so that one may take over what the other was sending. */
export function rolesOf(size: 'full' | 'small'): Role[] {
  const some = (part: Role['part'], count: number): Role[] =>
    Array.from({ length: count }, (_, i) => ({ name: `${part}-${i + 1}`, part, channels: [] }))
  const ofAll = (name: string): Role => ({ name, part: 'worker', channels: [...vendorChannels] })
  if (size === 'small')
    return [
      ...some('api', 2),
      ...some('planner', 1),
      ...some('gateway', 1),
      ofAll('workers-1'),
      ofAll('workers-2'),
    ]
  const ofOne = vendorChannels.map(
    (channel): Role => ({ name: `worker-${channel}`, part: 'worker', channels: [channel] }),
  )
  return [...some('api', 2), ...some('planner', 2), ...some('gateway', 2), ...ofOne, ofAll('workers')]
}

/** An hour, but for those who speak to vendors: vendors refuse signatures of another time, whoever makes them. */
const JUMP_MS = 3_600_000
const VENDOR_JUMP_MS = 20_000

const clock = pathToFileURL(`${import.meta.dirname}/jumping-clock.ts`)

const ACK_SECONDS = 5
export const CONCURRENCY = 4

export type Cast = {
  roles: readonly Role[]
  byName: ReadonlyMap<string, Supervised>
  apis: string[]
  /** Where the workers show their metrics, by name. */
  metrics: ReadonlyMap<string, string>
  /** One address for all APIs, where vendors bring their receipts. */
  front: Balancer
  /** One address for all gateways. */
  native: Balancer
  masterKey: Buffer
  /** Starts the programs: the addresses are known before. */
  start(env: Record<string, string>): void
  stop(): Promise<void>
}

/** Takes ports for the programs; `start` brings them to life under supervision. */
export async function prepareCast(roles: readonly Role[], random: Random): Promise<Cast> {
  const ports = new Map<string, number>()
  for (const { name, part } of roles)
    if (part === 'api' || part === 'gateway') ports.set(name, await freePort())
  const metricsPorts = new Map<string, number>()
  for (const { name, part } of roles) if (part === 'worker') metricsPorts.set(name, await freePort())
  const portsOf = (part: Role['part']) =>
    roles.filter((role) => role.part === part).map(({ name }) => ports.get(name)!)
  const byName = new Map<string, Supervised>()
  const masterKey = randomBytes(32)
  const front = await startBalancer(portsOf('api'), random)
  const native = await startBalancer(portsOf('gateway'), random)

  const programOf = ({ part, channels }: Role) => {
    if (part === 'gateway') return 'apps/worker-native/src/main.ts'
    if (part !== 'worker') return `apps/${part}/src/main.ts`
    return channels.length > 1 ? 'bench/chaos/all-workers.ts' : `apps/worker-${channels[0]}/src/main.ts`
  }
  const own = (role: Role) => {
    const port = String(ports.get(role.name) ?? 0)
    return {
      HERALD_NODE_ID: role.name,
      HERALD_METRICS_PORT: String(metricsPorts.get(role.name) ?? 0),
      ...(role.part === 'api' && { HERALD_PORT: port }),
      ...(role.part === 'gateway' && { HERALD_GATEWAY_PORT: port }),
      NODE_OPTIONS: `--import ${clock}?ms=${role.part === 'worker' ? VENDOR_JUMP_MS : JUMP_MS}`,
    }
  }
  return {
    roles,
    byName,
    apis: portsOf('api').map((port) => `http://127.0.0.1:${port}`),
    metrics: new Map([...metricsPorts].map(([name, port]) => [name, `http://127.0.0.1:${port}`])),
    front,
    native,
    masterKey,
    start(env) {
      const shared = {
        HERALD_MASTER_KEY: masterKey.toString('hex'),
        HERALD_OPERATOR_KEY: randomBytes(16).toString('hex'),
        HERALD_PUBLIC_URL: `http://127.0.0.1:${front.port}`,
        HERALD_ACK_SECONDS: String(ACK_SECONDS),
        HERALD_WORKER_CONCURRENCY: String(CONCURRENCY),
        // All devices come through one balancer.
        HERALD_GATEWAY_PER_ADDRESS: '0',
        HERALD_LOG_LEVEL: 'warn',
        ...env,
      }
      for (const role of roles)
        byName.set(role.name, supervise(role.name, [programOf(role)], { ...shared, ...own(role) }))
    },
    /** Without ceremony: everything is at rest, and draining is proved elsewhere. */
    async stop() {
      await Promise.all([...byName.values()].map((process) => process.stop('SIGKILL')))
      await Promise.all([front.close(), native.close()])
    },
  }
}
