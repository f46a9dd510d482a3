import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findImbalances } from '@herald/db/readings'
import type { Database } from '@herald/db/store'
import { freePort } from '@herald/testkit'
import { type Metrics, rounded } from '../metric.ts'
import { openStage, type Stage } from '../pipeline/stage.ts'
import { residentMb } from '../process-figures.ts'
import type { FleetAnswer, FleetQuestion } from './fleet.ts'

const CHURN = 200
const REST_MS = 5_000
const PATIENCE_MS = 60_000

/**
 * One gateway with many connections: what each costs in memory, how long a broadcast takes until the last acknowledgement is
 * counted in Postgres while connections come and go, and whether anybody is left out. A bare `ws` server with the same
 * clients stands beside it.
 */
export async function measureNative(connections: number): Promise<Metrics> {
  const bare = await measureBare(connections)
  const port = await freePort()
  const stage = await openStage({
    queue: 'redis',
    workers: ['worker-native'],
    env: { HERALD_GATEWAY_PORT: String(port) },
  })
  const fleet = startFleet()
  try {
    const tokens = await addDevices(stage.db, stage.appId, connections)
    const { pid } = stage.processes.get('worker-native')!
    await untilJoined(stage.db)
    const before = residentKb(pid)
    const started = Date.now()
    await fleet.ask({ ask: 'connect', url: `ws://127.0.0.1:${port}/native`, tokens })
    const connectSeconds = (Date.now() - started) / 1000
    await sleep(REST_MS)
    const { connected } = await fleet.ask({ ask: 'churn', perSecond: 0 })
    const perConnection = (residentKb(pid) - before) / connected

    await broadcast(stage, fleet, connections)
    const quiet = await broadcast(stage, fleet, connections)
    await fleet.ask({ ask: 'churn', perSecond: CHURN })
    await sleep(2_000)
    const churned = await broadcast(stage, fleet, connections)
    await sleep(2_000)
    const { reconnects } = await fleet.ask({ ask: 'churn', perSecond: 0 })
    const wrong = await findImbalances(stage.db)
    if (wrong.length > 0) throw new Error(`out of balance: ${JSON.stringify(wrong[0])}`)

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
        value: rounded(churned.ms),
        unit: 'ms',
        note: `notify to the last acknowledgement counted, ${CHURN} reconnects/s (${reconnects} in total) during the broadcast; without reconnects ${rounded(quiet.ms)} ms; bare ws without database ${rounded(bare.ms)} ms`,
      },
      native_lost: {
        value: connections - churned.received,
        unit: 'devices',
        note: `of ${connections} that never acknowledged the broadcast under churn; devices saw ${churned.seen}`,
      },
    }
  } finally {
    fleet.stop()
    await stage.stop()
  }
}

async function broadcast(stage: Stage, fleet: Fleet, count: number) {
  const started = Date.now()
  const task = await stage.notify({
    audience: 'all',
    setting: { distribution_strategy: 'nativepush_only' },
    message: { title: 'To everyone', body: 'A broadcast over the native channel', ext: { n: started } },
  })
  let received = 0
  let ms = Number.NaN
  while (Date.now() - started < PATIENCE_MS) {
    const { rows } = await stage.db.pool.query<{ received: number }>(
      `SELECT coalesce(sum(received), 0)::int AS received FROM counter WHERE task_id = $1 AND channel = 'native'`,
      [task],
    )
    received = rows[0]!.received
    ms = Date.now() - started
    if (received >= count) break
    await sleep(10)
  }
  const { received: seen } = await fleet.ask({ ask: 'received', task })
  return { ms, received, seen }
}

async function measureBare(connections: number): Promise<{ kb: number; ms: number }> {
  const server = fork(here('./bare-server.ts'))
  const [{ port }] = (await once(server, 'message')) as [{ port: number }]
  const fleet = startFleet()
  try {
    const before = residentKb(server.pid!)
    const tokens = Array.from({ length: connections }, (_, n) => `bare${n}`)
    await fleet.ask({ ask: 'connect', url: `ws://127.0.0.1:${port}/native`, tokens })
    await sleep(REST_MS)
    const kb = (residentKb(server.pid!) - before) / connections
    await bareBroadcast(server, 1, connections)
    const ms = await bareBroadcast(server, 2, connections)
    return { kb, ms }
  } finally {
    fleet.stop()
    server.disconnect()
  }
}

async function bareBroadcast(server: ChildProcess, task: number, connections: number): Promise<number> {
  const started = Date.now()
  const message = { type: 'text', title: 'To everyone', body: 'A broadcast over the native channel' }
  const frame = JSON.stringify({ op: 'push', task_id: task, message })
  for (let first = true; ; first = false) {
    server.send({ broadcast: first ? frame : undefined })
    const [{ acknowledged, lastAt }] = (await once(server, 'message')) as [
      { acknowledged: number; lastAt: number },
    ]
    if (acknowledged >= task * connections) return lastAt - started
    if (Date.now() - started > PATIENCE_MS) return Number.NaN
    await sleep(10)
  }
}

export type Fleet = { pid: number; ask(question: FleetQuestion): Promise<FleetAnswer>; stop(): void }

export function startFleet(): Fleet {
  const child = fork(here('./fleet.ts'))
  return {
    pid: child.pid!,
    async ask(question) {
      child.send(question)
      const [answer] = (await once(child, 'message')) as [FleetAnswer]
      return answer
    },
    stop: () => child.disconnect(),
  }
}

async function addDevices(db: Database, appId: string, count: number): Promise<string[]> {
  const { rows } = await db.pool.query<{ token: string }>(
    `INSERT INTO device (app_id, guid, push_token, platform, moved_at)
     SELECT $1, 'native' || n, 'native-' || $1 || '-' || n, 'android', now() - interval '1 hour'
     FROM generate_series(1, $2::int) n RETURNING push_token AS token`,
    [appId, count],
  )
  await db.pool.query('VACUUM ANALYZE device')
  return rows.map(({ token }) => token)
}

export async function untilJoined(db: Database): Promise<void> {
  for (;;) {
    const { rows } = await db.pool.query('SELECT 1 FROM gateway_node WHERE lease_until > now()')
    if (rows.length > 0) break
    await sleep(50)
  }
  await sleep(1_000)
}

const residentKb = (pid: number) => residentMb(pid)! * 1024

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

if (import.meta.main) {
  const connections = Number(process.argv[2] ?? 15_000)
  for (const [name, { value, unit, note }] of Object.entries(await measureNative(connections)))
    console.log(`${name}  ${value} ${unit}  (${note})`)
  process.exit(0)
}
