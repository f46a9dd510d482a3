import { describe, expect, it } from '@jest/globals'
import { isDemotion, serverProblems } from '../src/redis-server.ts'

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

describe('an error of Redis', () => {
  it.each([
    ["READONLY You can't write against a read only replica.", true],
    [
      "ERR Error running script (call to f_6b1b): @user_script:15: @user_script: 15: -READONLY You can't write against a read only replica.",
      true,
    ],
    ["READONLY You can't write against a read only replica. script: 6b1b, on @user_script:15.", true],
    ["OOM command not allowed when used memory > 'maxmemory'.", false],
    ['LOADING Redis is loading the dataset in memory', false],
  ])('%s: the server is demoted: %s', (message, demoted) => expect(isDemotion(message)).toBe(demoted))
})
