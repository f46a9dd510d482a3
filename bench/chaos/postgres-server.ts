import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '@herald/async'
import { migrate } from '@herald/db/store'
import { startPostgres } from '@herald/embedded'
import { codeOf, connectSession } from '@herald/postgres'
import { mountSmallDisk, type SmallDisk, whyNoSmallDisk } from './small-disk.ts'

export type DrillPostgres = {
  url: string
  pid(): number
  /** Sends the signal and starts Postgres again on the same port. */
  crash(signal: 'SIGKILL' | 'SIGQUIT'): Promise<void>
  /** Why the disk cannot be filled; undefined if it can. */
  whyNeverFull: string | undefined
  /** Fills the disk of all tables while `during` runs. Fails if Postgres did not report 53100. */
  fillDisk(during: () => Promise<unknown>): Promise<void>
  stop(): Promise<void>
}

/** Every process has a pool, and a second one if the queue is in Postgres. */
const CONNECTIONS = 400
const DISK_FULL = '53100'
/** Space that statements free is filled again after this time. */
const REFILL_MS = 200

/**
 * Starts a durable Postgres that can be killed and restarted. All tables of its database are on a disk of their own. The
 * write-ahead log is not: without space for it Postgres does not report an error, it ends, which `crash` does as well.
 */
export async function startDrillPostgres(): Promise<DrillPostgres> {
  const dir = mkdtempSync(join(tmpdir(), 'herald-chaos-'))
  const options = { dir, durable: true, settings: { max_connections: String(CONNECTIONS) } }
  let running = await startPostgres(options)
  let disk: SmallDisk | undefined
  /** A crash during the recovery from another one, or during a full disk, waits for its end. */
  let inTurn: Promise<void> = Promise.resolve()
  const next = (work: () => Promise<void>) => {
    const done = inTurn.then(work)
    inTurn = done.catch(() => {})
    return done
  }
  const removeFiles = () => {
    disk?.unmount()
    // Postgres may still be ending.
    rmSync(dir, { recursive: true, force: true, maxRetries: 20 })
  }
  // Postgres runs detached, so that Ctrl-C does not end it first; an interrupted drill must stop it.
  const end = () => {
    process.kill(running.pid, 'SIGQUIT')
    removeFiles()
  }
  process.once('exit', end)
  let whyNeverFull = whyNoSmallDisk()
  if (!whyNeverFull) {
    try {
      disk = mountSmallDisk(join(dir, 'tables'), statSync(join(dir, 'data')))
      await moveTables(running.url, disk.path)
    } catch (error) {
      whyNeverFull = (error as Error).message
    }
  }
  await migrate(running.url)
  return {
    url: running.url,
    whyNeverFull,
    pid: () => running.pid,
    crash: (signal) =>
      next(async () => {
        process.kill(running.pid, signal)
        running = await startPostgres({ ...options, port: running.port })
      }),
    fillDisk: (during) =>
      next(async () => {
        if (!disk || whyNeverFull) throw new Error(whyNeverFull)
        disk.shrink()
        try {
          await keepFull(running.url, during)
        } finally {
          disk.grow()
          await removeFiller(running.url)
        }
      }),
    async stop() {
      await inTurn
      process.off('exit', end)
      await running.stop()
      removeFiles()
    },
  }
}

/** Moves the database to the disk; those connected to it would prevent that. */
async function moveTables(url: string, path: string): Promise<void> {
  const address = new URL(url)
  const database = address.pathname.slice(1)
  address.pathname = '/postgres'
  const client = await connectSession({ connectionString: address.href })
  try {
    await client.query(`CREATE TABLESPACE drill LOCATION '${path}'`)
    await client.query(`ALTER DATABASE ${database} SET TABLESPACE drill`)
  } finally {
    await client.end()
  }
}

/** Writes rows until there is no space, again and again; other sessions then get the same error. */
async function keepFull(url: string, during: () => Promise<unknown>): Promise<void> {
  const client = await connectWritable(url)
  let refusals = 0
  const fill = () =>
    client
      .query(`INSERT INTO drill_filler SELECT repeat('x', 900) FROM generate_series(1, 10000)`)
      .catch((error: Error) => {
        if (codeOf(error) !== DISK_FULL) throw error
        refusals++
      })
  try {
    await client.query('CREATE TABLE IF NOT EXISTS drill_filler (filler text)')
    await fill()
    let isOver = false
    const over = during().finally(() => {
      isOver = true
    })
    for (; !isOver; await sleep(REFILL_MS)) await fill()
    await over
  } finally {
    await client.end().catch(() => {})
  }
  if (refusals === 0) throw new Error(`Postgres never reported ${DISK_FULL} although its disk was full`)
}

/** Not affected by the fault `read-only`. */
const connectWritable = (url: string) =>
  connectSession({ connectionString: url, settings: { default_transaction_read_only: 'off' } })

async function removeFiller(url: string): Promise<void> {
  const client = await connectWritable(url)
  try {
    await client.query('DROP TABLE IF EXISTS drill_filler')
  } finally {
    await client.end()
  }
}
