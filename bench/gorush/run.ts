import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '@herald/async'
import { freePort, startProcess, until } from '@herald/testkit'
import { type Sink, startSink } from '../http2/start-sink.ts'
import { deviceToken } from '../http2/workload.ts'
import { type Metric, type Metrics, percentile, rounded } from '../metric.ts'
import { CONNECTIONS, notifyEach } from '../pipeline/accept.ts'
import {
  addApnsCertificate,
  addIosDevices,
  type Deployment,
  startDeployment,
  untilCounted,
} from '../pipeline/deployment.ts'
import { sendRequests } from '../pipeline/raw-client.ts'
import { gorushConfig, pushRequests } from './config.ts'

const ROUNDS = 3
/** gorush is fastest with more workers than its default, one per core. */
const MANY_WORKERS = 256
const LIMIT_MS = 120_000

type Sizes = { broadcast: number; singles: number }
/** Pushes per second. */
type Rates = { broadcast: number; singles: number }
type Round = { herald: Rates; gorush: Rates; manyWorkers: Rates }

/**
 * Races gorush, the program that GORUSH names, against the same APNs sink in the same run: a broadcast and single pushes. gorush
 * stores nothing; Herald commits. Without GORUSH it is left out.
 */
export async function measureGorush(sizes: Sizes): Promise<Metrics> {
  const program = process.env.GORUSH
  if (!program) {
    console.error('  GORUSH does not name a gorush program: the race against it is left out')
    return {}
  }
  const sink = await startSink()
  const herald = await startDeployment({
    queue: 'redis',
    workers: ['worker-apns'],
    env: { HERALD_APNS_URL: sink.url },
  })
  try {
    await addApnsCertificate(herald)
    await addIosDevices(herald.db, herald.appId, sizes.broadcast)
    const small = { broadcast: 1_000, singles: 1_000 }
    // A warm-up, because connections, prepared statements and the JIT are warm in a real deployment.
    await raceHerald(herald, sink, { broadcast: sizes.broadcast, singles: small.singles })
    const rounds: Round[] = []
    for (let round = 0; round < ROUNDS; round++)
      rounds.push({
        herald: await raceHerald(herald, sink, sizes),
        gorush: await raceGorush(program, sink, sizes, small),
        manyWorkers: await raceGorush(program, sink, sizes, small, MANY_WORKERS),
      })
    return raceMetrics(rounds, sizes)
  } finally {
    await herald.stop()
    await sink.stop()
  }
}

/** The arithmetic of the race: how many times faster Herald is than the faster of the two ways to run gorush. Medians over the rounds. */
export function raceMetrics(rounds: readonly Round[], sizes: Sizes): Metrics {
  const compare = (kind: keyof Rates, what: string): Metric => {
    const of = (name: keyof Round) =>
      percentile(
        rounds.map((round) => round[name][kind]),
        0.5,
      )
    const ratios = rounds.map(
      ({ herald, gorush, manyWorkers }) => herald[kind] / Math.max(gorush[kind], manyWorkers[kind]),
    )
    return {
      value: rounded(percentile(ratios, 0.5)),
      unit: 'times',
      note: `${rounded(of('herald'))}/s against ${rounded(of('gorush'))}/s by default and ${rounded(of('manyWorkers'))}/s with ${MANY_WORKERS} workers; ${what}; ${rounds.length} rounds`,
    }
  }
  return {
    broadcast_vs_gorush_ratio: compare(
      'broadcast',
      `${sizes.broadcast.toLocaleString('en')} iOS devices, until the last is at the sink; Herald until it is committed, badge +1`,
    ),
    notify_vs_gorush_ratio: compare(
      'singles',
      `${sizes.singles.toLocaleString('en')} requests for one device each, ${CONNECTIONS} connections, until the last is at the sink; Herald until it is committed`,
    ),
  }
}

async function raceHerald(herald: Deployment, sink: Sink, sizes: Sizes): Promise<Rates> {
  await sink.takeCounts()
  const started = performance.now()
  const task = await herald.notify({
    audience: 'all',
    setting: { distribution_strategy: 'ospush_only' },
    message: { title: 'Sale', body: 'Everything must go', badge: '+1' },
  })
  await untilCounted(herald, task, 'sent', sizes.broadcast, 20)
  const broadcast = (sizes.broadcast / (performance.now() - started)) * 1000
  const caller = { headers: () => herald.headers, pushToken: (n: number) => `p${1 + (n % sizes.broadcast)}` }
  const { delivered } = await notifyEach(herald, caller, sizes.singles, sink)
  return { broadcast, singles: delivered }
}

async function raceGorush(
  program: string,
  sink: Sink,
  sizes: Sizes,
  small: Sizes,
  workers?: number,
): Promise<Rates> {
  const dir = mkdtempSync(join(tmpdir(), 'herald-gorush-'))
  const port = await freePort()
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const file = join(dir, 'gorush.yml')
  const authority = join(dir, 'authority.pem')
  const queue = Math.max(sizes.singles, 8_192)
  writeFileSync(file, gorushConfig({ port, proxyPort: sink.proxyPort, key, workers, queue }))
  writeFileSync(authority, sink.authority)
  const gorush = startProcess(program, ['-c', file], { env: { SSL_CERT_FILE: authority } })
  try {
    const base = `http://127.0.0.1:${port}`
    await until(
      () =>
        fetch(`${base}/healthz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      {
        what: `gorush to be ready; it printed: ${gorush.output()}`,
        seconds: 30,
      },
    )
    await gorushBroadcast(base, sink, small.broadcast)
    await gorushSingles(base, sink, small.singles)
    return {
      broadcast: await gorushBroadcast(base, sink, sizes.broadcast),
      singles: await gorushSingles(base, sink, sizes.singles),
    }
  } finally {
    await gorush.stop('SIGKILL')
    rmSync(dir, { recursive: true })
  }
}

const tokensOf = (count: number) => Array.from({ length: count }, (_, n) => deviceToken(n))

async function gorushBroadcast(base: string, sink: Sink, count: number): Promise<number> {
  const bodies = pushRequests(tokensOf(count), { title: 'Sale', body: 'Everything must go', badge: 1 })
  await sink.takeCounts()
  const started = performance.now()
  for (const body of bodies) {
    const reply = await fetch(`${base}/api/push`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    if (!reply.ok) throw new Error(`gorush responded ${reply.status}: ${await reply.text()}`)
  }
  await untilArrived(sink, count)
  return (count / (performance.now() - started)) * 1000
}

async function gorushSingles(base: string, sink: Sink, count: number): Promise<number> {
  const bodies = tokensOf(count).map(
    (token) => pushRequests([token], { title: 'Order', body: 'Shipped' })[0]!,
  )
  await sink.takeCounts()
  const started = performance.now()
  await sendRequests({
    base,
    path: '/api/push',
    headers: { 'content-type': 'application/json' },
    connections: CONNECTIONS,
    count,
    body: (n) => bodies[n]!,
    isAccepted: (response) => response.includes('"success":"ok"'),
  })
  await untilArrived(sink, count)
  return (count / (performance.now() - started)) * 1000
}

async function untilArrived(sink: Sink, count: number): Promise<void> {
  const limit = performance.now() + LIMIT_MS
  for (let arrived = 0; ; await sleep(5)) {
    arrived += (await sink.takeCounts()).requests
    if (arrived > count) throw new Error(`the sink saw ${arrived} pushes instead of ${count}`)
    if (arrived === count) return
    if (performance.now() > limit)
      throw new Error(`the sink saw ${arrived} pushes of ${count} within two minutes`)
  }
}
