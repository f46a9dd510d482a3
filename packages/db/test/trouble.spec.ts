import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Postgres, startPostgres } from '@herald/embedded'
import { type SilentProxy, startApp, startSilentProxy, until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { findImbalances } from '../src/readings/index.ts'
import { type Database, ensurePartitions, migrate, openDatabase } from '../src/store/index.ts'
import { inTransaction } from '../src/store/statement.ts'
import { type ClaimedBatch, claimBatches, settleBatches, settleUntilKnown } from '../src/tasks/index.ts'
import { settlementOf } from './setup.ts'

// A server of its own, because the shared one must not be stopped or made read-only.
let dir: string
let server: Postgres
let exited: PromiseWithResolvers<void>

async function start(): Promise<void> {
  exited = Promise.withResolvers()
  server = await startPostgres({ dir, port: server?.port, durable: false, onExit: () => exited.resolve() })
}

async function asAdmin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(server.url)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'herald-trouble-'))
  await start()
  await migrate(server.url)
})
afterAll(async () => {
  await server.stop()
  rmSync(dir, { recursive: true, force: true })
})

const planned = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    channel: 'fcm' as const,
    certificateId: 1,
    recipients: [i + 1],
    tried: [],
  }))
const sent = (batch: ClaimedBatch) => settlementOf(batch, { status: 's', sent: 1, answered: 1 })
const settle = (db: Database, batches: readonly ClaimedBatch[], onRepeat?: () => void) =>
  settleUntilKnown(db, batches.map(sent), async (open) => (await settleBatches(db, open)).settled, onRepeat)

describe('a settle', () => {
  let db: Database
  beforeEach(async () => {
    db = openDatabase(server.url, { max: 5, waitMs: 60_000 })
    await ensurePartitions(db)
  })
  afterEach(async () => {
    expect(await findImbalances(db)).toEqual([])
    await db.close()
  })

  const accept = async (count: number) => (await acceptPlan(db, 'app', { batches: planned(count) })).released
  const claim = (batches: Awaited<ReturnType<typeof accept>>) =>
    claimBatches(db.pool, { channel: 'fcm', certificateIds: [1], batches }, { seconds: 30, worker: 'w' })
  const sentOf = async ({ taskId }: { taskId: number }) =>
    (await db.pool.query('SELECT sent FROM counter WHERE task_id = $1', [taskId])).rows[0].sent as number

  it('on a server that is read-only for a while is written when it no longer is', async () => {
    const released = await accept(40)
    const claimed = await claim(released)
    await asAdmin(async (admin) => {
      const readOnly = async (value: 'on' | 'off') => {
        await admin.query(`SET default_transaction_read_only = off`)
        await admin.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
        await admin.query('SELECT pg_reload_conf()')
        await until(
          async () =>
            (await db.pool.query('SHOW default_transaction_read_only')).rows[0]
              .default_transaction_read_only === value,
        )
      }
      await readOnly('on')
      const repeats = Array<number>(10).fill(0)
      const groups = repeats.map((_, i) =>
        settle(db, claimed.slice(i * 4, i * 4 + 4), () => {
          repeats[i]!++
        }),
      )
      await until(() => repeats.every((count) => count >= 3))
      await expect(accept(1)).rejects.toMatchObject({ code: '25006' })
      await readOnly('off')
      const written = await Promise.all(groups)
      expect(written.map(({ size }) => size)).toEqual(Array(10).fill(4))
    })
    expect(await sentOf(released[0]!)).toBe(40)
    expect(await claim(released)).toEqual([])
  })

  it('that is cancelled is repeated, and counted once', async () => {
    const released = await accept(2)
    const claimed = await claim(released)
    await asAdmin(async (admin) => {
      await admin.query('BEGIN')
      await admin.query('SELECT FROM counter WHERE task_id = $1 FOR UPDATE', [released[0]!.taskId])
      let repeats = 0
      const settled = settle(db, claimed, () => {
        repeats++
      })
      const cancel = () =>
        db.pool.query(
          `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%jsonb_to_recordset%'`,
        )
      for (const times of [1, 2, 3]) {
        await until(async () => {
          await cancel()
          return repeats >= times
        })
      }
      await admin.query('ROLLBACK')
      expect((await settled).size).toBe(2)
    })
    expect(await sentOf(released[0]!)).toBe(2)
  })
})

describe('a host that vanished inside a transaction', () => {
  let proxy: SilentProxy
  let lost: Database
  let db: Database
  beforeAll(async () => {
    proxy = await startSilentProxy(server.port)
    lost = openDatabase(server.url.replace(`:${server.port}/`, `:${proxy.port}/`), { max: 1 })
    db = openDatabase(server.url, { max: 3, waitMs: 60_000 })
    await ensurePartitions(db)
  })
  afterAll(async () => {
    await proxy.close()
    await lost.close()
    await db.close()
  })

  it('does not keep its locks: Postgres ends the session, and others go on', async () => {
    const { released } = await acceptPlan(db, 'app', { batches: planned(1) })
    const claimed = await claimBatches(
      db.pool,
      { channel: 'fcm', certificateIds: [1], batches: released },
      { seconds: 600, worker: 'w' },
    )
    const silenced = proxy.lose(/COMMIT/)
    const locking = inTransaction(lost, async (runner) => {
      await runner.query('UPDATE counter SET target = target WHERE task_id = $1', [released[0]!.taskId])
    }).catch((error) => error)
    await silenced
    const holder = () =>
      db.pool.query(
        `SELECT FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()`,
      )
    expect((await holder()).rowCount).toBe(1)
    // Its patience is longer than the limit of an idle transaction, its statements wait for the row.
    const written = await settle(db, claimed)
    expect(written.size).toBe(1)
    // Postgres releases the locks of a session a moment before the session is gone.
    await until(async () => (await holder()).rowCount === 0)
    await proxy.close()
    expect(await locking).toBeInstanceOf(Error)
  })
})

it('work goes on after crashes at any moment, without an error that nobody handles', async () => {
  const work = startApp('packages/db/test/run-work.ts', {}, [server.url])
  const rounds = () => Number(/.*settled (\d+)/s.exec(work.output())?.[1] ?? 0)
  await work.prints(/settled \d+/)
  for (let crash = 0; crash < 6; crash++) {
    const before = rounds()
    await until(() => rounds() > before + crash * 3)
    // The commit log is written at a checkpoint; the server is not durable.
    await asAdmin((admin) => admin.query('CHECKPOINT'))
    process.kill(server.pid, 'SIGQUIT')
    await exited.promise
    await start()
  }
  const last = rounds()
  await until(() => rounds() > last)
  expect({
    ...(await work.stop()),
    output: work
      .output()
      .match(/^(?!settled).*$/gm)
      ?.filter(Boolean),
  }).toEqual({
    code: 0,
    signal: null,
    output: ['closed'],
  })
})
