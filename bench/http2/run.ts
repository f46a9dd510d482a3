import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startChild } from '../child.ts'
import { type Metric, type Metrics, percentile, rounded } from '../metric.ts'
import type { Run } from './contender.ts'
import { maxStreams, type Sink, startSink } from './start-sink.ts'
import { apnsHeaders, apnsPayload, deviceToken } from './workload.ts'

type Sizes = { fast: number; slow: number; rounds: number }
const fullSizes: Sizes = { fast: 400_000, slow: 20_000, rounds: 5 }
const quickSizes: Sizes = { fast: 100_000, slow: 5_000, rounds: 3 }

/**
 * Compares our client with `apn`, `firebase-admin` and `h2load` against the same sink. Each runs once per round, so that all
 * are affected alike by other load on the machine. A ratio is the median over the rounds. Throws if a push was lost.
 */
export async function measureHttp2({ quick }: { quick: boolean }): Promise<Metrics> {
  const sizes = quick ? quickSizes : fullSizes
  const sink = await startSink()
  const rounds: Round[] = []
  try {
    for (let round = 0; round < sizes.rounds; round++) rounds.push(await runRound(sink, sizes))
  } finally {
    await sink.stop()
  }
  return {
    http2_vs_apn_ratio: ratio(rounds, 'apns', 'apn'),
    http2_vs_firebase_ratio: ratio(rounds, 'fcm', 'firebase'),
    ...(rounds[0]?.h2load === undefined
      ? {}
      : {
          http2_vs_h2load_ratio: ratio(rounds, 'apns', 'h2load'),
          http2_vs_h2load_2_threads_ratio: ratio(rounds, 'apns', 'h2loadTwo'),
        }),
    http2_requests_per_s: {
      value: Math.round(median(rounds.map((round) => rate(round.apns)))),
      unit: 'requests/s',
      note: 'one process, one TLS connection, sink on the same machine',
    },
    http2_cpu_us_per_request: {
      value: rounded(median(rounds.map(({ apns }) => cpuOf(apns)))),
      unit: 'µs',
      note: 'user and system time of the client process',
    },
  }
}

type Round = { apns: Run; fcm: Run; apn: Run; firebase: Run; h2load?: Run; h2loadTwo?: Run }

async function runRound(sink: Sink, { fast, slow }: Sizes): Promise<Round> {
  return {
    apns: await runContender(sink, 'herald-apns', fast),
    h2load: await runH2load(sink, fast, 1),
    h2loadTwo: await runH2load(sink, fast, 2),
    apn: await runContender(sink, 'apn', slow),
    fcm: await runContender(sink, 'herald-fcm', fast),
    firebase: await runContender(sink, 'firebase', slow),
  }
}

async function runContender(sink: Sink, name: string, requests: number): Promise<Run> {
  const warmUp = Math.ceil(requests / 4)
  const file = new URL(`./contenders/${name}.ts`, import.meta.url)
  const args = [sink.port, warmUp, requests].map(String)
  if (name === 'herald-apns') printOnce('Herald', [process.execPath, fileURLToPath(file), ...args])
  const child = await startChild<'go', Run>(file, args)
  await checkCounts(sink, `${name} warming up`, warmUp, warmUp)
  const run = await child.ask('go')
  await checkCounts(sink, name, requests, requests)
  await child.stop()
  return run
}

/** Undefined if h2load is not installed; the other comparisons still run. */
async function runH2load(sink: Sink, requests: number, threads: number): Promise<Run | undefined> {
  if (spawnSync('h2load', ['--version'], { stdio: 'ignore' }).error !== undefined) {
    console.error(
      'h2load is not installed (apt-get install nghttp2-client): the comparison with it is left out',
    )
    return undefined
  }
  const folder = mkdtempSync(join(tmpdir(), 'herald-bench-'))
  const body = join(folder, 'body.json')
  writeFileSync(body, JSON.stringify(apnsPayload))
  try {
    const headers = Object.entries(apnsHeaders).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const size = ['-n', requests, '-c', threads, '-t', threads, '-m', maxStreams].map(String)
    const url = `https://localhost:${sink.port}/3/device/${deviceToken(1)}`
    const args = [...size, '-d', body, ...headers, url]
    printOnce(`h2load with ${threads === 1 ? 'one thread' : `${threads} threads`}`, ['h2load', ...args])
    const child = spawn('h2load', args, {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (text) => {
      output += text
    })
    await once(child, 'close')
    await checkCounts(sink, 'h2load', requests, 1)
    const found = /finished in ([\d.]+)(ms|s),/.exec(output)
    if (found === null || !output.includes(`${requests} succeeded`))
      throw new Error(`h2load failed: ${output}`)
    return { requests, ms: Number(found[1]) * (found[2] === 's' ? 1000 : 1), cpuMs: Number.NaN }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const printed = new Set<string>()

/** Prints the command line of a client, so that a reader can repeat the comparison. */
function printOnce(who: string, words: readonly string[]): void {
  if (printed.has(who)) return
  printed.add(who)
  const quoted = words.map((word) => (/^[\w./:=-]+$/.test(word) ? word : `'${word}'`))
  console.log(`  ${who}: ${quoted.join(' ')}`)
}

async function checkCounts(sink: Sink, what: string, requests: number, distinct: number): Promise<void> {
  const counts = await sink.takeCounts()
  if (counts.requests === requests && counts.distinct === distinct) return
  throw new Error(
    `${what}: the sink saw ${counts.requests} requests, ${counts.distinct} distinct, not ${requests}`,
  )
}

function ratio(rounds: readonly Round[], ours: keyof Round, theirs: keyof Round): Metric {
  const value = median(rounds.map((round) => rate(round[ours]!) / rate(round[theirs]!)))
  const [our, their] = [ours, theirs].map((name) => median(rounds.map((round) => rate(round[name]!))))
  const [ourCpu, theirCpu] = [ours, theirs].map((name) => median(rounds.map((round) => cpuOf(round[name]!))))
  const cpu = Number.isNaN(theirCpu!)
    ? ''
    : `, CPU ${rounded(ourCpu!)} against ${rounded(theirCpu!)} µs per request`
  const note = `${perSecond(our!)} against ${perSecond(their!)}${cpu}; TLS, one connection for our client, ${rounds.length} rounds, none lost`
  return { value: rounded(value), unit: 'times', note }
}

const rate = ({ requests, ms }: Run): number => (requests / ms) * 1000
const cpuOf = ({ requests, cpuMs }: Run): number => (cpuMs * 1000) / requests
const perSecond = (value: number): string => `${Math.round(value).toLocaleString('en')}/s`

const median = (values: readonly number[]): number => percentile(values, 0.5)

if (import.meta.main) console.table(await measureHttp2({ quick: process.argv.includes('--quick') }))
