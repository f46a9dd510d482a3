import { describeWith, testRedis } from '@herald/testkit'
import { testDatabase } from '@herald/testkit/database'
import type { describe } from '@jest/globals'
import { Redis } from 'ioredis'

/** An empty server for one spec file. */
export type Place = { url: string; close(): Promise<void> }

export const backends: { kind: string; describe: typeof describe.skip; open: () => Promise<Place> }[] = [
  {
    kind: 'redis',
    describe: describeWith('redis-server'),
    open: async () => {
      const redis = await testRedis()
      return {
        url: redis.url,
        close: async () => {
          const left = await connectionsOf(redis.port)
          await redis.stop()
          if (left > 0) throw new Error(`${left} connections to Redis were left open`)
        },
      }
    },
  },
  {
    kind: 'postgres',
    describe: describeWith(),
    open: async () => {
      const database = await testDatabase({ migrated: false })
      return { url: database.url, close: database.drop }
    },
  },
]

/** Number of connections besides the one that counts. */
async function connectionsOf(port: number): Promise<number> {
  return (
    String(await askRedis(port, 'CLIENT', 'LIST'))
      .trim()
      .split('\n').length - 1
  )
}

export async function askRedis(port: number, ...[name = '', ...args]: string[]): Promise<unknown> {
  const client = new Redis({ port, lazyConnect: true, retryStrategy: () => null, protocol: 2 })
  client.on('error', () => {})
  try {
    await client.connect()
    return await client.call(name, ...args)
  } finally {
    client.disconnect()
  }
}
