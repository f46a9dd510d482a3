import { describeWith, freePort, testRedis } from '@herald/testkit'
import { testDatabase } from '@herald/testkit/database'
import { describe, expect, it } from '@jest/globals'
import { examineQueue } from '../src/checkup.ts'
import { openQueues, QueueUnavailable } from '../src/index.ts'

const log = { warn: () => {}, error: () => {} }

describeWith('redis-server')('examineQueue on Redis', () => {
  it('reports settings that would lose jobs', async () => {
    const redis = await testRedis(['--maxmemory-policy', 'allkeys-lru'])
    try {
      expect(await examineQueue(redis.url, 60_000)).toEqual({
        kind: 'redis',
        topology: 'single',
        whole: true,
        nodes: [
          {
            address: `127.0.0.1:${redis.port}`,
            version: expect.stringMatching(/^\d+\.\d+/),
            role: 'master',
            policy: 'allkeys-lru',
            appendOnly: false,
          },
        ],
      })
    } finally {
      await redis.stop()
    }
  })

  it('reports a refused connection and a refused login', async () => {
    const unused = `redis://127.0.0.1:${await freePort()}`
    await expect(examineQueue(unused, 60_000)).rejects.toThrow(QueueUnavailable)
    await expect(examineQueue(unused, 60_000)).rejects.toThrow(/ECONNREFUSED/)
    const redis = await testRedis(['--requirepass', 'hush'])
    try {
      await expect(examineQueue(redis.url, 60_000)).rejects.toThrow(/NOAUTH/)
    } finally {
      await redis.stop()
    }
  })
})

describe('examineQueue on Postgres', () => {
  it('finds no schema before the first program ran, and one afterwards', async () => {
    const database = await testDatabase({ migrated: false })
    try {
      expect(await examineQueue(database.url, 60_000)).toMatchObject({ kind: 'postgres', schema: 'missing' })
      const queues = await openQueues({ url: database.url, log })
      await queues.close()
      expect(await examineQueue(database.url, 60_000)).toMatchObject({ kind: 'postgres', schema: 'ready' })
    } finally {
      await database.drop()
    }
  })
})
