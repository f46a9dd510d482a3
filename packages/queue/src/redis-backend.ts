import { createRedisBackend, Queue, type RedisQueueBackend, Worker } from 'bullmq'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import {
  type Backend,
  type BullQueue,
  type BullWorker,
  eventsKept,
  finishedKept,
  slowDownOnError,
  workerTimes,
} from './backend.ts'
import { reasonOf } from './errors.ts'
import { type QueueLog, seldom } from './log.ts'
import type { RedisAddress } from './queue-url.ts'
import { complaintsAbout } from './redis-server.ts'
import { within } from './within.ts'

/**
 * Two clients for the whole process, and one blocking connection a worker. The client that adds fails at once while
 * Redis is away, so that the API goes on accepting; the client of the workers waits for Redis to come back, forever.
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
  // Above the time a worker blocks, so that only a dead connection is cut.
  const working = () =>
    connect(address, { retry, maxRetriesPerRequest: null, enableOfflineQueue: true, socketTimeout: 8_000 })
  let workers: Client | undefined
  const clients: Client[] = [adding]

  const complain = seldom(log.warn.bind(log))
  adding.on('error', (error) => complain({ reason: reasonOf(error) }, unreachable))
  let told = ''
  adding.on('ready', async () => {
    const complaints = await readInfo(adding).then(complaintsAbout, () => [])
    if (complaints.length > 0 && complaints.join() !== told) {
      told = complaints.join()
      for (const complaint of complaints) log.warn({}, complaint)
    }
  })

  // A Redis that is away must not keep the API from starting: the first adds then fail, as they do later.
  const ready = new Promise((resolve) => adding.once('ready', resolve))
  await within(limitMs, 'Redis', ready).catch((error) => complain({ reason: reasonOf(error) }, unreachable))

  const shared = (name: string) => ({ prefix: `${address.prefix}{${name}}`, skipVersionCheck: true })

  return {
    kind: 'redis',
    openQueue: (name) => {
      const queue = new Queue(name, {
        ...shared(name),
        connection: adding,
        skipWaitingForReady: true,
        streams: { events: { maxLen: eventsKept } },
        defaultJobOptions: { removeOnComplete: finishedKept, removeOnFail: finishedKept },
      })
      queue.on('error', () => {})
      return queue as unknown as BullQueue
    },
    openWorker: (name, { concurrency }, process) => {
      workers ??= remembering(
        working().on('error', () => {}),
        clients,
      )
      const worker = new Worker(
        name,
        process,
        { ...shared(name), ...workerTimes, connection: workers, concurrency, drainDelay: 5 },
        (...args): RedisQueueBackend => slowDownOnError(createRedisBackend(...args)),
      )
      const complainOfWorker = seldom(log.warn.bind(log))
      worker.on('error', (error) =>
        complainOfWorker({ queue: name, reason: reasonOf(error) }, 'a worker cannot ask Redis'),
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
type Manner = Pick<RedisOptions, 'maxRetriesPerRequest' | 'enableOfflineQueue' | 'socketTimeout'> & {
  retry: (times: number) => number | null
}

export function connect(address: RedisAddress, { retry, ...manner }: Manner): Client {
  const { hosts, sentinel, username, password, db } = address
  const tls = address.tls ? { tls: {} } : {}
  const common: RedisOptions = {
    ...manner,
    ...tls,
    username,
    password,
    connectTimeout: 5_000,
    keepAlive: 10_000,
    autoResendUnfulfilledCommands: manner.enableOfflineQueue,
    // A master that was demoted answers READONLY; the new one is found by connecting again.
    reconnectOnError: (error) =>
      error.message.startsWith('READONLY') ? (manner.enableOfflineQueue ? 2 : 1) : false,
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
        enableOfflineQueue: manner.enableOfflineQueue,
        clusterRetryStrategy: retry,
        // Certificates name hosts: resolving them to addresses first makes every TLS handshake fail.
        ...(address.tls && { dnsLookup: (host, done) => done(null, host) }),
      })
  }
}

/** BullMQ makes the blocking connection of a worker as a duplicate, and loses it when Redis is away at the worker's end. */
function remembering<C extends Client>(client: C, clients: Client[]): C {
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
 * A client that is disconnected between two attempts to connect neither connects nor ends, and BullMQ waits for its end
 * with timers that keep the process alive. One more attempt, which is not repeated, brings it to its end.
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
