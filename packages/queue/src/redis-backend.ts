import { createRedisBackend, Queue, type RedisQueueBackend, Worker } from 'bullmq'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import {
  type Backend,
  type BullQueue,
  type BullWorker,
  maxEvents,
  maxFinished,
  slowDownOnError,
  workerTimes,
} from './backend.ts'
import { answerWithin, reasonOf } from './errors.ts'
import { fetchOncePerWake } from './fetch-once.ts'
import { type QueueLog, throttleLog } from './log.ts'
import type { RedisAddress } from './queue-url.ts'
import { isDemotion, serverProblems } from './redis-server.ts'

/**
 * Two clients per process, and one blocking connection per worker. The client that adds fails at once while Redis is
 * down, so that the API keeps accepting; the client of the workers waits until Redis is back.
 */
export async function openRedis(address: RedisAddress, log: QueueLog, limitMs: number): Promise<Backend> {
  let closed = false
  const retry = (times: number) => (closed ? null : Math.min(100 * times, 2_000))
  const adding = connect(address, {
    retry,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    socketTimeout: 2 * limitMs,
  })
  // The socket timeout is longer than a worker blocks, so that it ends dead connections only.
  const working = () =>
    connect(address, { retry, maxRetriesPerRequest: null, enableOfflineQueue: true, socketTimeout: 8_000 })
  let workers: Client | undefined
  const clients: Client[] = [adding]

  const warn = throttleLog(log.warn.bind(log))
  adding.on('error', (error) => warn({ reason: reasonOf(error) }, unreachable))
  let reported = ''
  adding.on('ready', async () => {
    const problems = await readInfo(adding).then(serverProblems, () => [])
    if (problems.length > 0 && problems.join() !== reported) {
      reported = problems.join()
      for (const problem of problems) log.warn({}, problem)
    }
  })

  // Redis being down must not keep the API from starting: adds fail until it is back.
  const ready = new Promise((resolve) => adding.once('ready', resolve))
  await answerWithin(limitMs, 'Redis', ready).catch((error) => warn({ reason: reasonOf(error) }, unreachable))

  const shared = (name: string) => ({ prefix: `${address.prefix}{${name}}`, skipVersionCheck: true })

  return {
    kind: 'redis',
    openQueue: (name) => {
      const queue = new Queue(name, {
        ...shared(name),
        connection: adding,
        skipWaitingForReady: true,
        streams: { events: { maxLen: maxEvents } },
        defaultJobOptions: { removeOnComplete: maxFinished, removeOnFail: maxFinished },
      })
      queue.on('error', () => {})
      return queue as unknown as BullQueue
    },
    oldestWaiting: async (queue) => {
      // The previous release put the normal lane into the prioritized jobs of the same queue.
      const states = ['waiting', 'prioritized'] as const
      const first = await Promise.all(states.map((state) => queue.getJobs(state, 0, 0, true)))
      const times = first.flat().map(({ timestamp }) => timestamp)
      return times.length > 0 ? Math.min(...times) : undefined
    },
    openWorker: (name, { concurrency }, process) => {
      workers ??= trackDuplicates(
        working().on('error', () => {}),
        clients,
      )
      const worker = new Worker(
        name,
        process,
        { ...shared(name), ...workerTimes, connection: workers, concurrency, drainDelay: 5 },
        (...args): RedisQueueBackend =>
          fetchOncePerWake(slowDownOnError(createRedisBackend(...args))).backend,
      )
      const warnOfWorker = throttleLog(log.warn.bind(log))
      worker.on('error', (error) =>
        warnOfWorker({ queue: name, reason: reasonOf(error) }, 'a worker cannot query Redis'),
      )
      return worker as unknown as BullWorker
    },
    ping: () => adding.ping(),
    close: async () => {
      closed = true
      for (const client of clients) end(client)
    },
  }
}

const unreachable = 'Redis is unreachable'

export type Client = Redis | Cluster
type ConnectOptions = Pick<RedisOptions, 'maxRetriesPerRequest' | 'enableOfflineQueue' | 'socketTimeout'> & {
  retry: (times: number) => number | null
}

export function connect(address: RedisAddress, { retry, ...options }: ConnectOptions): Client {
  const { hosts, sentinel, username, password, db } = address
  const tls = address.tls ? { tls: {} } : {}
  const common: RedisOptions = {
    ...options,
    ...tls,
    username,
    password,
    connectTimeout: 5_000,
    keepAlive: 10_000,
    autoResendUnfulfilledCommands: options.enableOfflineQueue,
    // Reconnecting finds the new master.
    reconnectOnError: (error) => (isDemotion(error.message) ? (options.enableOfflineQueue ? 2 : 1) : false),
  }
  switch (address.topology) {
    case 'single':
      return new Redis({ ...common, ...hosts[0], db, retryStrategy: retry })
    case 'sentinel':
      return new Redis({
        ...common,
        sentinels: hosts,
        name: sentinel?.name,
        sentinelUsername: sentinel?.username,
        sentinelPassword: sentinel?.password,
        ...(address.tls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
        db,
        retryStrategy: retry,
        sentinelRetryStrategy: retry,
      })
    case 'cluster':
      return new Cluster(hosts, {
        redisOptions: common,
        enableOfflineQueue: options.enableOfflineQueue,
        clusterRetryStrategy: retry,
        // TLS certificates contain host names: with addresses every handshake fails.
        ...(address.tls && { dnsLookup: (host, done) => done(null, host) }),
      })
  }
}

/** BullMQ duplicates a client for a worker's blocking connection, and leaks it when Redis is down while the worker closes. */
function trackDuplicates<C extends Client>(client: C, clients: Client[]): C {
  clients.push(client)
  const duplicate = client.duplicate.bind(client) as (...args: unknown[]) => Client
  return Object.assign(client, {
    duplicate: (...args: unknown[]) => {
      const made = duplicate(...args)
      clients.push(made)
      return made
    },
  })
}

/**
 * A client that is disconnected between two connection attempts never emits `end`, and BullMQ waits for it with timers that
 * keep the process alive. One more attempt, which is not repeated, makes it end.
 */
function end(client: Client): void {
  client.disconnect()
  if (client.status !== 'reconnecting') return
  client.connect().then(
    () => client.disconnect(),
    () => {},
  )
}

async function readInfo(client: Client): Promise<string> {
  const node = client instanceof Cluster ? client.nodes('master')[0] : client
  return node ? node.info() : ''
}
