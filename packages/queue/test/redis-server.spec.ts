import { describe, expect, it } from '@jest/globals'
import { serverProblems } from '../src/redis-server.ts'

const info = (version: string, policy: string) =>
  `# Server\r\nredis_version:${version}\r\nredis_mode:standalone\r\n# Memory\r\nmaxmemory_policy:${policy}\r\n`

describe('what is wrong with a Redis server', () => {
  it.each([
    ['7.0.15', 'noeviction', []],
    ['6.2.0', 'noeviction', []],
    ['10.0.1', 'noeviction', []],
    ['7.2.0', 'allkeys-lru', ['Redis may drop jobs: maxmemory-policy is allkeys-lru, set it to noeviction']],
    ['6.0.16', 'noeviction', ['Redis 6.0.16 is older than 6.2: update it']],
  ])('version %s with %s: %j', (version, policy, problems) => {
    expect(serverProblems(info(version, policy))).toEqual(problems)
  })

  it('is empty when the server hides it', () => {
    expect(serverProblems('')).toEqual([])
  })
})
