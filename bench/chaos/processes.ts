import { randomBytes } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { vendorChannels } from '@herald/domain'
import { freePort } from '@herald/testkit'
import { type Balancer, startBalancer } from '../native/balancer.ts'
import type { Random } from './random.ts'
import type { DrillProcess } from './schedule.ts'
import { type Supervised, supervise } from './supervised.ts'

/** Herald's processes. Every channel has two workers, so that one can take over the batches of the other. */
export function processesOf(size: 'full' | 'small'): DrillProcess[] {
  const several = (role: DrillProcess['role'], count: number): DrillProcess[] =>
    Array.from({ length: count }, (_, i) => ({ name: `${role}-${i + 1}`, role, channels: [] }))
  const worker = (name: string, channels: DrillProcess['channels'] = [...vendorChannels]): DrillProcess => ({
    name,
    role: 'worker',
    channels,
  })
  const count = size === 'small' ? 1 : 2
  return [
    ...several('api', 2),
    ...several('planner', count),
    ...several('gateway', count),
    ...(size === 'small'
      ? [worker('workers-1'), worker('workers-2')]
      : [...vendorChannels.map((channel) => worker(`worker-${channel}`, [channel])), worker('workers')]),
    ...several('courier', count),
  ]
}

/** Less for workers, because vendors refuse signatures with a wrong time. */
const JUMP_MS = 3_600_000
const WORKER_JUMP_MS = 20_000

const clock = pathToFileURL(`${import.meta.dirname}/jumping-clock.ts`)

const ACK_SECONDS = 5
export const CONCURRENCY = 4

export type Processes = {
  list: readonly DrillProcess[]
  byName: ReadonlyMap<string, Supervised>
  apis: string[]
  /** URLs of the workers' metrics, by name. */
  metrics: ReadonlyMap<string, string>
  /** Load balancer of the APIs; vendors send their receipts to it. */
  apiBalancer: Balancer
  gatewayBalancer: Balancer
  masterKey: Buffer
  /** `envOf` adds settings of one process. */
  start(env: Record<string, string>, envOf: (name: string) => Record<string, string>): void
  stop(): Promise<void>
}

/** Reserves ports for the programs, so that addresses are known before `start` runs them under supervision. */
export async function prepareProcesses(list: readonly DrillProcess[], random: Random): Promise<Processes> {
  const ports = new Map<string, number>()
  for (const { name, role } of list)
    if (role !== 'planner' && role !== 'courier') ports.set(name, await freePort())
  const portsOf = (role: DrillProcess['role']) =>
    list.filter((one) => one.role === role).map(({ name }) => ports.get(name)!)
  const byName = new Map<string, Supervised>()
  const masterKey = randomBytes(32)
  const apiBalancer = await startBalancer(portsOf('api'), random)
  const gatewayBalancer = await startBalancer(portsOf('gateway'), random)

  /** Planners and workers differ from those of `apps` only in the pauses after which they try a vendor again. */
  const programOf = ({ role, channels }: DrillProcess): [file: string, ...args: string[]] => {
    if (role === 'api') return ['apps/api/src/main.ts']
    if (role === 'gateway') return ['apps/worker-native/src/main.ts']
    if (role === 'courier') return ['apps/courier/src/main.ts']
    if (role === 'planner') return ['bench/chaos/planner-program.ts']
    return ['bench/chaos/workers-program.ts', ...channels]
  }
  const envOf = ({ name, role }: DrillProcess) => {
    const port = String(ports.get(name) ?? 0)
    return {
      HERALD_NODE_ID: name,
      HERALD_METRICS_PORT: role === 'worker' ? port : '0',
      ...(role === 'api' && { HERALD_PORT: port }),
      ...(role === 'gateway' && { HERALD_GATEWAY_PORT: port }),
      NODE_OPTIONS: `--import ${clock}?ms=${role === 'worker' ? WORKER_JUMP_MS : JUMP_MS}`,
    }
  }
  return {
    list,
    byName,
    apis: portsOf('api').map((port) => `http://127.0.0.1:${port}`),
    metrics: new Map(
      list
        .filter(({ role }) => role === 'worker')
        .map(({ name }) => [name, `http://127.0.0.1:${ports.get(name)}`]),
    ),
    apiBalancer,
    gatewayBalancer,
    masterKey,
    start(env, ofProcess) {
      const shared = {
        HERALD_MASTER_KEY: masterKey.toString('hex'),
        HERALD_OPERATOR_KEY: randomBytes(16).toString('hex'),
        HERALD_PUBLIC_URL: `http://127.0.0.1:${apiBalancer.port}`,
        HERALD_ACK_SECONDS: String(ACK_SECONDS),
        HERALD_WORKER_CONCURRENCY: String(CONCURRENCY),
        // All devices connect from the address of the load balancer.
        HERALD_GATEWAY_PER_ADDRESS: '0',
        HERALD_LOG_LEVEL: 'warn',
        // The server of the application is on this machine.
        HERALD_WEBHOOK_PRIVATE: 'on',
        ...env,
      }
      for (const one of list)
        byName.set(
          one.name,
          supervise(one.name, programOf(one), { ...shared, ...envOf(one), ...ofProcess(one.name) }),
        )
    },
    /** SIGKILL is enough, because all tasks have ended; specs of the programs test the drain. */
    async stop() {
      await Promise.all([...byName.values()].map((process) => process.stop('SIGKILL')))
      await Promise.all([apiBalancer.close(), gatewayBalancer.close()])
    },
  }
}
