import { migrationState } from '@herald/db/store'
import { freePort, startApp } from '@herald/testkit'
import { testDatabase } from '@herald/testkit/database'
import { describe, expect, it } from '@jest/globals'

const migrate = async (url: string) => {
  const job = startApp('apps/planner/src/migrate.ts', { DATABASE_URL: url })
  const { code } = await job.exited
  return { code, output: job.output() }
}

describe('the migration job', () => {
  it('migrates an empty database, and has nothing to do the second time', async () => {
    const database = await testDatabase({ migrated: false })
    try {
      const first = await migrate(database.url)
      expect(first.output).toMatch(/The database is up to date\.\n$/)
      expect(first.code).toBe(0)
      expect((await migrationState(database.url)).pending).toEqual([])
      expect(await migrate(database.url)).toEqual({ code: 0, output: 'The database is up to date.\n' })
    } finally {
      await database.drop()
    }
  })

  it('reports a problem in one line', async () => {
    const unreachable = await migrate(`postgres://herald@127.0.0.1:${await freePort()}/herald`)
    expect(unreachable.code).toBe(1)
    expect(unreachable.output.trim().split('\n')).toHaveLength(1)
    const blank = await migrate('')
    expect([blank.code, blank.output]).toEqual([1, expect.stringMatching(/^DATABASE_URL is not set: /)])
  })
})
