import { sleep } from '@herald/async'
import type { Database } from '@herald/db/store'
import { freePort, until } from '@herald/testkit'
import { type Child, startChild } from '../child.ts'
import { type Metrics, percentile, rounded } from '../metric.ts'
import { checkBalance, type Deployment, type GivenDatabase, startDeployment } from '../pipeline/deployment.ts'
import { residentMb } from '../process-figures.ts'
import type { ClientsRequest, ClientsResponse } from './clients-process.ts'

const RECONNECTS_PER_S = 200
/** Before memory is measured. */
const SETTLE_MS = 5_000
const LIMIT_MS = 60_000
/** Broadcasts under churn: one takes about two seconds, in which a busy machine changes the figure by half. */
const BROADCASTS = 5

/**
 * One gateway with many connections: memory per connection, time of a broadcast until the last acknowledgement is counted in
 * Postgres while clients reconnect, and devices that did not get it. Compared with a bare `ws` server and the same clients.
 */
export async function measureNative(connections: number, database?: GivenDatabase): Promise<Metrics> {
  const bare = await measureBare(connections)
  const port = await freePort()
  const herald = await startDeployment({
    queue: 'redis',
    workers: ['worker-native'],
    env: { HERALD_GATEWAY_PORT: String(port) },
    database,
  })
  const clients = await startClients()
  try {
    const tokens = await addDevices(herald.db, herald.appId, connections)
    const { pid } = herald.processes.get('worker-native')!
    await untilJoined(herald.db)
    await sleep(database?.settleMs ?? 0)
    const before = residentKb(pid)
    const started = Date.now()
    await clients.ask({ ask: 'connect', url: `ws://127.0.0.1:${port}/native`, tokens })
    const connectSeconds = (Date.now() - started) / 1000
    await sleep(SETTLE_MS)
    const { connected } = await clients.ask({ ask: 'churn', perSecond: 0 })
    const perConnection = (residentKb(pid) - before) / connected

    await broadcast(herald, clients, connections)
    const undisturbed = await broadcast(herald, clients, connections)
    await clients.ask({ ask: 'churn', perSecond: RECONNECTS_PER_S })
    await sleep(2_000)
    const churned: Awaited<ReturnType<typeof broadcast>>[] = []
    while (churned.length < BROADCASTS) {
      churned.push(await broadcast(herald, clients, connections))
      await sleep(2_000)
    }
    const { reconnects } = await clients.ask({ ask: 'churn', perSecond: 0 })
    await checkBalance(herald)
    const times = churned.map(({ ms }) => ms)

    return {
      native_connections: {
        value: connected,
        unit: 'connections',
        note: `open at the same time on one gateway, connected in ${rounded(connectSeconds)} s`,
      },
      native_kb_per_connection: {
        value: rounded(perConnection),
        unit: 'KB',
        note: `resident memory of the gateway; a bare ws server needs ${rounded(bare.kb)} KB`,
      },
      native_broadcast_ack_ms: {
        value: rounded(percentile(times, 0.5)),
        unit: 'ms',
        note: `notify to the last acknowledgement counted, ${RECONNECTS_PER_S} reconnects/s (${reconnects} in total) during the broadcast, median of ${BROADCASTS}; without reconnects ${rounded(undisturbed.ms)} ms; bare ws without database ${rounded(bare.ms)} ms`,
      },
      native_lost: {
        value: sum(churned.map(({ received }) => connections - received)),
        unit: 'devices',
        note: `of ${connections} that never acknowledged one of ${BROADCASTS} broadcasts under churn; devices saw ${sum(churned.map(({ seen }) => seen))} messages`,
      },
    }
  } finally {
    await clients.stop()
    await herald.stop()
  }
}

async function broadcast(herald: Deployment, clients: Clients, count: number) {
  const started = Date.now()
  const task = await herald.notify({
    audience: 'all',
    setting: { distribution_strategy: 'nativepush_only' },
    message: { title: 'To everyone', body: 'A broadcast over the native channel', ext: { n: started } },
  })
  let received = 0
  let ms = Number.NaN
  while (Date.now() - started < LIMIT_MS) {
    const { rows } = await herald.db.pool.query<{ received: number }>(
      `SELECT coalesce(sum(received), 0)::int AS received FROM counter WHERE task_id = ${task} AND channel = 'native'`,
    )
    received = rows[0]!.received
    ms = Date.now() - started
    if (received >= count) break
    await sleep(10)
  }
  const { received: seen } = await clients.ask({ ask: 'received', task })
  return { ms, received, seen }
}

async function measureBare(connections: number): Promise<{ kb: number; ms: number }> {
  const server: BareServer = await startChild(new URL('./bare-server.ts', import.meta.url))
  const { port } = server.ready
  const clients = await startClients()
  try {
    const before = residentKb(server.pid)
    const tokens = Array.from({ length: connections }, (_, n) => `bare${n}`)
    await clients.ask({ ask: 'connect', url: `ws://127.0.0.1:${port}/native`, tokens })
    await sleep(SETTLE_MS)
    const kb = (residentKb(server.pid) - before) / connections
    await bareBroadcast(server, 1, connections)
    const ms = await bareBroadcast(server, 2, connections)
    return { kb, ms }
  } finally {
    await clients.stop()
    await server.stop()
  }
}

type BareServer = Child<{ broadcast?: string }, { acknowledged: number; lastAt: number }, { port: number }>

async function bareBroadcast(server: BareServer, task: number, connections: number): Promise<number> {
  const started = Date.now()
  const message = { type: 'text', title: 'To everyone', body: 'A broadcast over the native channel' }
  const frame = JSON.stringify({ op: 'push', task_id: task, message })
  for (let first = true; ; first = false) {
    const { acknowledged, lastAt } = await server.ask({ broadcast: first ? frame : undefined })
    if (acknowledged >= task * connections) return lastAt - started
    if (Date.now() - started > LIMIT_MS) return Number.NaN
    await sleep(10)
  }
}

export type Clients = Child<ClientsRequest, ClientsResponse>

export const startClients = (): Promise<Clients> =>
  startChild(new URL('./clients-process.ts', import.meta.url))

async function addDevices(db: Database, appId: string, count: number): Promise<string[]> {
  const { rows } = await db.pool.query<{ token: string }>(
    `INSERT INTO device (app_id, guid, push_token_hash, platform, moved_at)
     SELECT $1, 'native-' || $1 || '-' || n, push_token_hash('native-' || $1 || '-' || n), 'android', now() - interval '1 hour'
     FROM generate_series(1, $2::int) n RETURNING guid AS token`,
    [appId, count],
  )
  await db.pool.query('VACUUM ANALYZE device')
  return rows.map(({ token }) => token)
}

export async function untilJoined(db: Database): Promise<void> {
  const joined = 'SELECT 1 FROM gateway_node WHERE lease_until > now()'
  await until(async () => (await db.pool.query(joined)).rows.length > 0, { what: 'a gateway', seconds: 60 })
  await sleep(1_000)
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)

const residentKb = (pid: number) => residentMb(pid)! * 1024

if (import.meta.main) {
  const connections = Number(process.argv[2] ?? 15_000)
  for (const [name, { value, unit, note }] of Object.entries(await measureNative(connections)))
    console.log(`${name}  ${value} ${unit}  (${note})`)
  process.exit(0)
}
