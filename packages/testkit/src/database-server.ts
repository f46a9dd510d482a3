import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensurePartitions, migrate, openDatabase } from '@herald/db/store'
import { processStart, startPostgres, stopLeftBehind } from '@herald/embedded'
import pg from 'pg'

export type TestServer = {
  /** Creates a database and returns its URL. It is cloned from a migrated one, or empty with `migrated: false`. */
  createDatabase(options?: { migrated?: boolean }): Promise<string>
  stop(): Promise<void>
}

const prefix = 'herald-test-'
const template = 'migrated'

/** The start of the names of temporary folders that the next run removes if this one is killed. */
export const prefixOfRun = () => `${prefix}${process.pid}-`

/** Starts a Postgres in a temporary folder, for one run of the tests or of a benchmark. Not durable by default. */
export async function startTestServer(
  options: { durable?: boolean; settings?: Record<string, string> } = {},
): Promise<TestServer> {
  await sweep()
  const dir = mkdtempSync(join(tmpdir(), prefixOfRun()))
  const server = await startPostgres({ dir, durable: options.durable ?? false, settings: options.settings })
  // Of a process that a signal ends; the next run removes the folder.
  const kill = () => {
    try {
      process.kill(server.pid, 'SIGQUIT')
    } catch {
      // It has ended.
    }
  }
  process.once('exit', kill)
  const urlOf = (database: string) => Object.assign(new URL(server.url), { pathname: `/${database}` }).href
  const admin = new pg.Client(urlOf('postgres'))
  admin.on('error', () => {})
  await admin.connect()

  let templateMade: Promise<void> | undefined
  const makeTemplate = async () => {
    await admin.query(`CREATE DATABASE ${template}`)
    await migrate(urlOf(template))
    // Here once instead of in every database.
    const db = openDatabase(urlOf(template), { waitMs: 60_000 })
    await ensurePartitions(db).finally(() => db.close())
  }
  return {
    async createDatabase({ migrated = true } = {}) {
      const name = `test_${randomBytes(6).toString('hex')}`
      if (migrated) {
        templateMade ??= makeTemplate()
        await templateMade
      }
      // file_copy takes a third of the time of the default strategy, which writes the copy through the WAL.
      await admin.query(
        `CREATE DATABASE ${name} TEMPLATE ${migrated ? template : 'template0'} STRATEGY file_copy`,
      )
      return urlOf(name)
    },
    async stop() {
      await admin.end()
      await server.stop()
      process.off('exit', kill)
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Stops and removes the servers of runs that were killed. */
async function sweep(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    const owner = Number(name.slice(prefix.length).split('-')[0])
    if (!owner || processStart(owner) !== undefined) continue
    for (const place of ['', 'postgres']) await stopLeftBehind(join(tmpdir(), name, place))
    rmSync(join(tmpdir(), name), { recursive: true, force: true })
  }
}
