import { type Database, openDatabase } from '@herald/db/store'
import { codeOf } from '@herald/postgres'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { makeReadOnly, slowDisk } from '../postgres-faults.ts'
import { type DrillPostgres, startDrillPostgres } from '../postgres-server.ts'
import { whyNoSmallDisk } from '../small-disk.ts'

let postgres: DrillPostgres
let db: Database

beforeAll(async () => {
  postgres = await startDrillPostgres()
  db = openDatabase(postgres.url, { max: 2, name: 'drill spec', onIdleError: () => {} })
  await db.pool.query('CREATE TABLE written (filler text)')
})

afterAll(async () => {
  await db?.close()
  await postgres?.stop()
})

/** Writes a page until the statement has had `code`; undefined stands for success. */
async function untilWriting(code: string | undefined): Promise<void> {
  const write = () =>
    db.pool.query(`INSERT INTO written SELECT repeat('x', 900) FROM generate_series(1, 20)`).then(
      () => undefined,
      (error: Error) => codeOf(error),
    )
  await until(async () => (await write()) === code, { what: `the result ${code ?? 'success'}`, everyMs: 20 })
}

describe('the Postgres of a drill', () => {
  it('is read-only for a while', async () => {
    await makeReadOnly(db, () => untilWriting('25006'))
    await untilWriting(undefined)
  })

  it('has a full disk for a while, or says why it cannot have one', async () => {
    const fault = postgres.fillDisk(() => untilWriting('53100'))
    if (whyNoSmallDisk() !== undefined) {
      expect(postgres.whyNeverFull).toBe(whyNoSmallDisk())
      await expect(fault).rejects.toThrow(whyNoSmallDisk())
      return
    }
    // Waits for the end of the full disk: recovery needs space as well.
    const crash = postgres.crash('SIGKILL')
    await fault
    await crash
    await untilWriting(undefined)
  })

  it('runs at full speed again after a slow disk', async () => {
    await slowDisk(db, postgres.pid, 0.5)
    await untilWriting(undefined)
    await until(async () => (await db.pool.query('SHOW commit_delay')).rows[0]?.commit_delay === '0', {
      what: 'the usual commit_delay',
    })
  })
})
