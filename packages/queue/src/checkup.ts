import type { Socket } from 'node:net'
import { connectSession } from '@herald/postgres'
import { assertSchemaCompatibility, LATEST_SCHEMA_VERSION, SchemaMigrationRequiredError } from 'bullmq'
import { Cluster, type Redis } from 'ioredis'
import { answerWithin } from './errors.ts'
import { parseQueueUrl, type RedisAddress } from './queue-url.ts'
import { type Client, connect } from './redis-backend.ts'
import { infoField } from './redis-server.ts'

export { isOldRedis } from './redis-server.ts'

export type RedisNode = {
  address: string
  version: string
  role: string
  policy: string
  appendOnly: boolean
}

export type QueueFacts =
  | {
      kind: 'redis'
      topology: RedisAddress['topology']
      /** The server, or every master of a Cluster. */
      nodes: RedisNode[]
      /** False for a Cluster of which some slots are not served. */
      whole: boolean
    }
  | { kind: 'postgres'; version: string; schema: 'missing' | 'old' | 'ready' }

/** Reads the state of the queue server, for `doctor`; changes nothing. Throws QueueUrlError and QueueUnavailable. */
export async function examineQueue(url: string, limitMs = 5_000): Promise<QueueFacts> {
  const address = parseQueueUrl(url)
  if (address.kind === 'postgres') return answerWithin(limitMs, 'the queue in Postgres', examinePostgres(url))
  return examineRedis(address, limitMs)
}

async function examineRedis(address: RedisAddress, limitMs: number): Promise<QueueFacts> {
  const client = connect(address, {
    retry: (times) => (times < 3 ? 100 : null),
    maxRetriesPerRequest: null,
    enableOfflineQueue: true,
    socketTimeout: limitMs,
  })
  let lastError: Error | undefined
  client.on('error', (error) => {
    lastError = error
  })
  const ended = new Promise<never>((_, reject) =>
    client.once('end', () => reject(lastError ?? new Error('the connection was closed'))),
  )
  try {
    return await answerWithin(limitMs, 'Redis', Promise.race([readRedis(client, address), ended]))
  } finally {
    ended.catch(() => {})
    client.disconnect()
  }
}

async function readRedis(client: Client, { topology }: RedisAddress): Promise<QueueFacts> {
  // The nodes of a Cluster are known after its first reply.
  await client.ping()
  const nodes = client instanceof Cluster ? client.nodes('master') : [client]
  const whole =
    client instanceof Cluster ? /cluster_state:ok/.test(String(await client.cluster('INFO'))) : true
  return { kind: 'redis', topology, nodes: await Promise.all(nodes.map(readNode)), whole }
}

async function readNode(node: Redis): Promise<RedisNode> {
  const info = await node.info()
  return {
    address: addressOf(node),
    version: infoField(info, 'redis_version') ?? '',
    role: infoField(info, 'role') ?? '',
    policy: infoField(info, 'maxmemory_policy') ?? '',
    appendOnly: infoField(info, 'aof_enabled') === '1',
  }
}

/** Behind Sentinel the options contain no master's address; the socket does. */
function addressOf({ options, stream }: Redis): string {
  const { host, port } = options
  if (!options.sentinels) return `${host}:${port}`
  const { remoteAddress, remotePort } = stream as Socket
  return `${remoteAddress}:${remotePort}`
}

async function examinePostgres(url: string): Promise<QueueFacts> {
  const client = await connectSession({ connectionString: url, connectionTimeoutMillis: 5_000 })
  try {
    const { rows } = await client.query(`SELECT current_setting('server_version') AS version`)
    const schema = await assertSchemaCompatibility(client).then(
      (version) => (version < LATEST_SCHEMA_VERSION ? 'old' : 'ready') as 'old' | 'ready',
      (error) => {
        if (error instanceof SchemaMigrationRequiredError) return 'missing' as const
        throw error
      },
    )
    return { kind: 'postgres', version: rows[0].version, schema }
  } finally {
    await client.end().catch(() => {})
  }
}
