import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { vendorChannels } from '@herald/domain'
import {
  describeWith,
  freePort,
  type RunningProcess,
  startProcess,
  type TestRedis,
  testRedis,
  until,
} from '@herald/testkit'
import { afterEach, expect, it } from '@jest/globals'
import { examineQueue } from '../src/checkup.ts'
import { nativeQueue, openQueues, type PushQueues, pushQueue } from '../src/index.ts'
import { askRedis } from './backends.ts'
import { alive, idOf, job, recordingLog } from './jobs.ts'

const name = pushQueue('apns')

describeWith(
  'redis-server',
  'redis-cli',
  'openssl',
)('queues on Redis', () => {
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    while (closing.length > 0) await closing.pop()?.()
  })

  async function start(...args: string[]) {
    const redis = await testRedis(args)
    closing.push(redis.stop)
    return redis
  }

  /** The product's limit of two seconds, for servers that do not answer. */
  const HASTY_MS = 2_000

  /** The usual limit is one that no call reaches. */
  async function open(url: string, { log = recordingLog(), limitMs = 60_000 } = {}): Promise<PushQueues> {
    const queues = await openQueues({ url, log, limitMs })
    closing.push(queues.close)
    return queues
  }

  function collect(queues: PushQueues, queue = name): number[] {
    const seen: number[] = []
    queues.work(queue, { concurrency: 4, onDead: alive }, async (done) => {
      seen.push(idOf(done))
    })
    return seen
  }

  it('keeps working after FLUSHALL', async () => {
    const redis = await start()
    const queues = await open(redis.url)
    const release = Promise.withResolvers<void>()
    const seen: number[] = []
    queues.work(name, { concurrency: 2, onDead: alive }, async (done) => {
      seen.push(idOf(done))
      if (idOf(done) === 1) await release.promise
    })
    await queues.add(name, job(1))
    await until(() => seen.length === 1)
    await askRedis(redis.port, 'FLUSHALL')
    await queues.add(name, job(2))
    await until(() => seen.length === 2)
    release.resolve()
    await Promise.all([3, 4, 5].map((id) => queues.add(name, job(id))))
    await until(() => seen.length === 5)
    expect(seen.toSorted()).toEqual([1, 2, 3, 4, 5])
    await until(async () => (await queues.counts(name)).active === 0)
  })

  it('does not repeat ids after FLUSHALL', async () => {
    const redis = await start()
    const queues = await open(redis.url)
    const idOfWaiting = async () => {
      await queues.add(name, job(1))
      return (await queues.bullQueues([name])[0]?.getWaiting())?.map(({ id }) => id)
    }
    const before = await idOfWaiting()
    await askRedis(redis.port, 'FLUSHALL')
    const after = await idOfWaiting()
    expect([before?.length, after?.length]).toEqual([1, 1])
    expect(after).not.toEqual(before)
  })

  it('warns of a server that may drop jobs', async () => {
    const redis = await start('--maxmemory-policy', 'allkeys-lru')
    const log = recordingLog()
    await open(redis.url, { log })
    await until(() => log.lines.some((line) => /maxmemory-policy is allkeys-lru/.test(line)))
  })

  it('opens while Redis is down, fails adds at once, and works when Redis is up', async () => {
    const port = await freePort()
    const queues = await open(`redis://127.0.0.1:${port}`, { limitMs: HASTY_MS })
    const seen = collect(queues)
    await expect(queues.add(name, job(1))).rejects.toThrow(
      'the queue push-apns cannot be written to: there is no connection',
    )
    const server = startProcess('redis-server', ['--port', String(port), '--save', '', '--bind', '127.0.0.1'])
    closing.unshift(() => server.stop('SIGKILL'))
    await until(() => queues.add(name, job(2)).then(() => true))
    await until(() => seen.includes(2))
  })

  it('lets the process end after closing while Redis is down', async () => {
    const redis = await start()
    const program = `
      import { openQueues, pushQueue } from ${JSON.stringify(import.meta.resolve('../src/index.ts'))}
      const log = { warn() {}, error() {} }
      const queues = await openQueues({ url: ${JSON.stringify(redis.url)}, log, limitMs: 60_000 })
      queues.work(pushQueue('apns'), { concurrency: 1, onDead() {} }, async () => console.log('working'))
      await queues.add(pushQueue('apns'), { certificateIds: ['1'], batches: [{ taskId: 1, id: 1 }] })
      process.once('SIGTERM', () => queues.close().then(() => console.log('closed')))`
    const child = startProcess(process.execPath, ['--input-type=module', '-e', program])
    await child.prints(/working/)
    await redis.process.stop('SIGKILL')
    expect(await child.stop('SIGTERM')).toEqual({ code: 0, signal: null })
    expect(child.output()).toMatch(/closed/)
  })

  it('signs in with user name, password and database', async () => {
    const redis = await start(
      '--user',
      'jane',
      'on',
      '>s@crets',
      '~*',
      '&*',
      '+@all',
      '--user',
      'default',
      'off',
    )
    const address = `redis://jane:s%40crets@127.0.0.1:${redis.port}/5?prefix=blue`
    const queues = await open(address)
    const seen = collect(queues)
    await queues.add(name, job(1))
    await until(() => seen.length === 1)
    await expect(
      open(address.replace('crets', 'cret'), { limitMs: HASTY_MS }).then((other) => other.add(name, job(2))),
    ).rejects.toThrow(/cannot be written to/)
  })

  it('does not keep a core busy while Redis refuses to hand out jobs', async () => {
    const redis = await start()
    const queues = await open(redis.url)
    await queues.add(name, job(1))
    await askRedis(redis.port, 'CONFIG', 'SET', 'maxmemory', '1')
    await expect(queues.add(name, job(2))).rejects.toThrow(/OOM/)
    const seen = collect(queues)
    const [callsBefore, began] = [await evalCalls(redis.port), performance.now()]
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    const calls = (await evalCalls(redis.port)) - callsBefore
    const seconds = (performance.now() - began) / 1000
    // The calls of a second, because the wait may have been longer.
    expect(calls / seconds).toBeLessThan(10)
    await askRedis(redis.port, 'CONFIG', 'SET', 'maxmemory', '0')
    await until(() => seen.length === 1)
  })

  it('speaks TLS', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'herald-tls-'))
    closing.push(async () => rmSync(dir, { recursive: true, force: true }))
    const [key, certificate] = [join(dir, 'key.pem'), join(dir, 'certificate.pem')]
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
    const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    execFileSync('openssl', [...kind, ...subject, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
    const port = await freePort()
    await start(
      ...['--tls-port', String(port), '--tls-cert-file', certificate, '--tls-key-file', key],
      ...['--tls-ca-cert-file', certificate, '--tls-auth-clients', 'no'],
    )
    const distrusting = await open(`rediss://localhost:${port}`, { limitMs: HASTY_MS })
    await expect(distrusting.add(name, job(1))).rejects.toThrow(/cannot be written to/)

    const usual = tls.getCACertificates()
    tls.setDefaultCACertificates([readFileSync(certificate, 'utf8')])
    closing.push(async () => tls.setDefaultCACertificates(usual))
    const queues = await open(`rediss://localhost:${port}`)
    const seen = collect(queues)
    await queues.add(name, job(2))
    await until(() => seen.includes(2))
  })

  it('finds the new master after a Sentinel fail-over', async () => {
    const master = await start()
    const replica = await start('--replicaof', '127.0.0.1', String(master.port))
    const sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(master.port, closing)))
    await until(async () =>
      String(await askRedis(master.port, 'INFO', 'replication')).includes('state=online'),
    )
    await until(async () => (await Promise.all(sentinels.map(knowsAll))).every(Boolean))

    const hosts = sentinels.map((port) => `127.0.0.1:${port}`).join(',')
    const address = `redis-sentinel://${hosts}/primary`
    expect(await examineQueue(address, 60_000)).toMatchObject({
      topology: 'sentinel',
      nodes: [{ address: `127.0.0.1:${master.port}`, role: 'master' }],
    })
    const queues = await open(address)
    const hasty = await open(address, { limitMs: HASTY_MS })
    const seen = collect(queues)
    await queues.add(name, job(1))
    await until(() => seen.includes(1))

    await master.process.stop('SIGKILL')
    await expect(hasty.add(name, job(2))).rejects.toThrow(/the queue push-apns/)
    for (const port of sentinels)
      await askRedis(port, 'SENTINEL', 'SET', 'primary', 'down-after-milliseconds', '500')
    let id = 100
    await until(() => hasty.add(name, job(id++)).then(() => true))
    expect(String(await askRedis(replica.port, 'ROLE'))).toMatch(/^master/)
    await until(() => seen.some((done) => done >= 100))
  })

  it('works on a Cluster, each queue in one slot, and continues when a node is lost', async () => {
    const nodes = await startCluster(start)
    const address = `redis-cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
    const facts = await examineQueue(address, 60_000)
    expect(facts).toMatchObject({ topology: 'cluster', whole: true })
    expect('nodes' in facts && facts.nodes.map(({ role }) => role)).toEqual(['master', 'master', 'master'])
    const queues = await open(address)
    const hasty = await open(address, { limitMs: HASTY_MS })
    const names = [...vendorChannels.map((channel) => pushQueue(channel)), nativeQueue('a')]
    const seen = new Map(names.map((queue) => [queue, collect(queues, queue)]))
    await Promise.all(names.flatMap((queue) => [1, 2, 3].map((id) => queues.add(queue, job(id)))))
    await until(() => [...seen.values()].every((ids) => ids.length === 3))

    const holders = new Map(
      await Promise.all(names.map(async (queue) => [queue, await holderOf(queue)] as const)),
    )
    const lost = nodes.find(({ port }) => port === holders.get(name))
    const elsewhere = names.find((queue) => holders.get(queue) !== lost?.port) ?? name
    expect(elsewhere).not.toBe(name)
    await lost?.process.stop('SIGKILL')
    const [here, there] = await Promise.allSettled([hasty.add(name, job(4)), queues.add(elsewhere, job(5))])
    expect([here.status, there.status]).toEqual(['rejected', 'fulfilled'])
    await until(() => seen.get(elsewhere)?.includes(5))

    // Its replica takes over.
    for (const { port } of nodes)
      if (port !== lost?.port) await askRedis(port, 'CONFIG', 'SET', 'cluster-node-timeout', '1500')
    await until(() => hasty.add(name, job(6)).then(() => true))
    await until(() => seen.get(name)?.includes(6))

    async function holderOf(queue: string): Promise<number> {
      const port = nodes[0]?.port ?? 0
      const slot = Number(await askRedis(port, 'CLUSTER', 'KEYSLOT', `herald{${queue}}:${queue}:wait`))
      const ranges = (await askRedis(port, 'CLUSTER', 'SLOTS')) as [number, number, [string, number]][]
      return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1] ?? 0
    }
  })
})

async function evalCalls(port: number): Promise<number> {
  const stats = String(await askRedis(port, 'INFO', 'commandstats'))
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, n]) => sum + Number(n), 0)
}

/** It takes no server for lost until the spec lowers the time: it must not replace one that was only slow. */
async function startSentinel(master: number, closing: (() => Promise<unknown>)[]): Promise<number> {
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'herald-sentinel-'))
  const sentinel: RunningProcess = startProcess('bash', [
    '-c',
    `cat > ${dir}/sentinel.conf <<< "port ${port}
bind 127.0.0.1
dir ${dir}
sentinel monitor primary 127.0.0.1 ${master} 2
sentinel down-after-milliseconds primary 3600000
sentinel failover-timeout primary 4000
" && exec redis-server ${dir}/sentinel.conf --sentinel`,
  ])
  closing.push(async () => {
    await sentinel.stop('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  })
  await sentinel.prints(/Sentinel ID is/)
  return port
}

async function knowsAll(sentinel: number): Promise<boolean> {
  const reply = (await askRedis(sentinel, 'SENTINEL', 'MASTER', 'primary')) as string[]
  const field = (key: string) => reply[reply.indexOf(key) + 1]
  return field('num-slaves') === '1' && field('num-other-sentinels') === '2'
}

/** Three masters, each with a replica. They take no node for lost until the spec lowers the time: the machine may stand still for seconds. */
async function startCluster(start: (...args: string[]) => Promise<TestRedis>): Promise<TestRedis[]> {
  const nodes = await Promise.all(
    Array.from({ length: 6 }, async () =>
      start(
        ...[
          '--cluster-enabled',
          'yes',
          '--cluster-node-timeout',
          '3600000',
          '--cluster-require-full-coverage',
          'no',
          // A replica takes over however long ago it lost its master.
          '--cluster-replica-validity-factor',
          '0',
        ],
        ...['--cluster-port', String(await freePort()), '--repl-diskless-sync-delay', '0'],
      ),
    ),
  )
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`)
  const create = ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes']
  execFileSync('redis-cli', create, { stdio: 'ignore' })
  for (const { port } of nodes) {
    await until(async () => {
      const state = `${await askRedis(port, 'CLUSTER', 'INFO')}${await askRedis(port, 'INFO', 'replication')}`
      return /cluster_state:ok/.test(state) && /state=online|master_link_status:up/.test(state)
    })
  }
  return nodes
}
