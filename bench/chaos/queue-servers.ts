import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sleep } from '@herald/async'
import { freePort, type RunningProcess, startProcess, startRedis, until } from '@herald/testkit'
import type { QueueKind } from './schedule.ts'

export type QueueServers = {
  url: string
  /** Kills a server with all its data and restarts it after `seconds`. With Sentinel or Cluster a replica takes over. */
  crash(node: number, seconds: number): Promise<void>
  flush(node: number): Promise<void>
  freeze(node: number, seconds: number): Promise<void>
  /** Number of client connections of all servers. */
  connections(): Promise<number>
  stop(): Promise<void>
}

export async function startQueueServers(kind: QueueKind, databaseUrl: string): Promise<QueueServers> {
  if (kind === 'redis') return startSingle()
  if (kind === 'sentinel') return startSentinels()
  if (kind === 'cluster') return startCluster()
  const none = async () => {}
  return {
    url: databaseUrl,
    crash: none,
    flush: none,
    freeze: none,
    stop: none,
    connections: async () => 0,
  }
}

const run = promisify(execFile)
const ask = async (port: number, ...words: string[]) =>
  (await run('redis-cli', ['-p', String(port), ...words], { timeout: 5000 })).stdout

type Node = {
  port: number
  start(): Promise<void>
  kill(): Promise<void>
  freeze(seconds: number): Promise<void>
  remove(): Promise<void>
}

/** A redis-server that keeps its port, but no data, over restarts. */
async function createNode(args: readonly string[] = []): Promise<Node> {
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'herald-chaos-redis-'))
  let running: RunningProcess | undefined
  const node: Node = {
    port,
    async start() {
      running = await startRedis(port, dir, args)
    },
    async kill() {
      await running?.stop('SIGKILL')
    },
    async freeze(seconds) {
      const pid = running?.pid
      if (!pid) return
      try {
        process.kill(pid, 'SIGSTOP')
        await sleep(seconds * 1000)
        process.kill(pid, 'SIGCONT')
      } catch {
        // Another fault has killed it.
      }
    },
    async remove() {
      await node.kill()
      rmSync(dir, { recursive: true, force: true })
    },
  }
  await node.start()
  return node
}

/** Faults for a set of nodes; `reachable` returns those that have jobs now. */
function serversOver(url: string, nodes: readonly Node[], reachable: () => Promise<readonly Node[]>) {
  let inTurn = Promise.resolve()
  const choose = async (node: number) => {
    const all = await reachable().catch(() => nodes)
    return all[node % all.length] ?? nodes[0]!
  }
  return {
    url,
    /** One at a time: no guarantee covers the loss of two nodes at once. */
    crash(node: number, seconds: number): Promise<void> {
      inTurn = inTurn.then(async () => {
        const victim = await choose(node)
        await victim.kill()
        await sleep(seconds * 1000)
        await victim.start()
      })
      return inTurn
    },
    flush: async (node: number) => void (await ask((await choose(node)).port, 'FLUSHALL').catch(() => {})),
    freeze: async (node: number, seconds: number) => (await choose(node)).freeze(seconds),
    async connections() {
      const lists = await Promise.all(
        nodes.map(({ port }) => ask(port, 'CLIENT', 'LIST', 'TYPE', 'NORMAL').catch(() => '')),
      )
      return lists.reduce(
        (sum, list) => sum + list.split('\n').filter((line) => /name=/.test(line)).length,
        0,
      )
    },
    async stop() {
      await inTurn.catch(() => {})
      await Promise.all(nodes.map((node) => node.remove()))
    },
  }
}

async function startSingle(): Promise<QueueServers> {
  const node = await createNode()
  return serversOver(`redis://127.0.0.1:${node.port}/0`, [node], async () => [node])
}

const MASTER = 'primary'

async function startSentinels(): Promise<QueueServers> {
  const first = await createNode()
  const second = await createNode(['--replicaof', '127.0.0.1', String(first.port)])
  const nodes = [first, second]
  const sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(first.port)))
  const master = async () => {
    const [, port] = (await ask(sentinels[0]!.port, 'SENTINEL', 'get-master-addr-by-name', MASTER)).split(
      '\n',
    )
    return nodes.filter((node) => String(node.port) === port?.trim())
  }
  await until(async () => /slave0:.*state=online/.test(await ask(first.port, 'INFO', 'replication')), {
    what: 'the replica',
    seconds: 60,
  })
  await until(
    async () => {
      const views = await Promise.all(
        sentinels.map(({ port }) => ask(port, 'SENTINEL', 'MASTER', MASTER).then((text) => text.split('\n'))),
      )
      const field = (view: string[], key: string) => view[view.indexOf(key) + 1]
      return views.every(
        (view) => field(view, 'num-slaves') === '1' && field(view, 'num-other-sentinels') === '2',
      )
    },
    { what: 'the Sentinels to know each other', seconds: 60 },
  )
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')
  const servers = serversOver(`redis-sentinel://${hosts}/${MASTER}`, nodes, master)
  return {
    ...servers,
    // Long enough for the Sentinels to elect a new master.
    crash: (node, seconds) => servers.crash(node, seconds + 3),
    async stop() {
      await servers.stop()
      await Promise.all(sentinels.map((sentinel) => sentinel.stop()))
    },
  }
}

async function startSentinel(master: number) {
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'herald-chaos-sentinel-'))
  const file = join(dir, 'sentinel.conf')
  writeFileSync(
    file,
    `port ${port}
bind 127.0.0.1
dir ${dir}
sentinel monitor ${MASTER} 127.0.0.1 ${master} 2
sentinel down-after-milliseconds ${MASTER} 1000
sentinel failover-timeout ${MASTER} 5000
`,
  )
  const running = startProcess('redis-server', [file, '--sentinel'])
  await running.prints(/Sentinel ID is/)
  return {
    port,
    async stop() {
      await running.stop('SIGKILL')
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Three masters, each with a replica. */
async function startCluster(): Promise<QueueServers> {
  const nodes = await Promise.all(
    Array.from({ length: 6 }, async () =>
      createNode([
        ...['--cluster-enabled', 'yes', '--cluster-node-timeout', '1500'],
        ...['--cluster-require-full-coverage', 'no', '--cluster-port', String(await freePort())],
        ...['--repl-diskless-sync-delay', '0'],
      ]),
    ),
  )
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`)
  await run('redis-cli', [
    ...['--cluster', 'create', ...addresses],
    ...['--cluster-replicas', '1', '--cluster-yes'],
  ])
  for (const { port } of nodes)
    await until(
      async () => {
        const state = (await ask(port, 'CLUSTER', 'INFO')) + (await ask(port, 'INFO', 'replication'))
        return /cluster_state:ok/.test(state) && /state=online|master_link_status:up/.test(state)
      },
      { what: 'the Cluster', seconds: 60 },
    )
  const masters = async () => {
    const roles = await Promise.all(
      nodes.map(({ port }) =>
        ask(port, 'ROLE').then(
          (role) => role.startsWith('master'),
          () => false,
        ),
      ),
    )
    return nodes.filter((_, i) => roles[i])
  }
  const servers = serversOver(`redis-cluster://${addresses.join(',')}`, nodes, masters)
  return { ...servers, crash: (node, seconds) => servers.crash(node, seconds + 4) }
}
