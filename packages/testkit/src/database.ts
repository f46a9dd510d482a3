import pg from 'pg'
import { openResources } from './open-resources.ts'
import { until } from './until.ts'

export type TestDatabaseOptions = {
  /** False gives an empty database without Herald's tables. */
  migrated?: boolean
  /** How long connections that were closed may still be listed; shorter only for specs that leave one open. */
  closingSeconds?: number
}

export type TestDatabase = {
  url: string
  /** Removes the database; throws if a connection to it was left open. */
  drop(): Promise<void>
}

/** Creates a database for this spec file, on the server that all spec files of the run share. */
export async function testDatabase({
  migrated = true,
  closingSeconds = 30,
}: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const server = process.env.TESTKIT_URL
  if (!server) throw new Error('testDatabase() works inside jest; elsewhere use startTestServer().')
  const response = await fetch(`${server}/database?migrated=${migrated}`, { method: 'POST' })
  const url = await response.text()
  if (!response.ok) throw new Error(`No test database: ${url}`)
  const database = {
    url,
    drop: () => drop(url, closingSeconds).finally(() => openResources().delete(database)),
  }
  openResources().set(database, `database ${new URL(url).pathname.slice(1)} (call drop())`)
  return database
}

async function drop(url: string, seconds: number): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  const client = new pg.Client(Object.assign(new URL(url), { pathname: '/postgres' }).href)
  await client.connect()
  try {
    let leaks: string[] = []
    // A connection that was just closed may still be listed.
    await until(
      async () => {
        const { rows } = await client.query(
          `SELECT application_name || ': ' || left(query, 80) AS leak FROM pg_stat_activity
           WHERE datname = $1 AND backend_type = 'client backend'`,
          [name],
        )
        leaks = rows.map((row) => row.leak)
        return leaks.length === 0
      },
      { seconds },
    ).catch(() => {})
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
    if (leaks.length > 0)
      throw new Error(`${leaks.length} connections to the test database were left open: ${leaks.join('; ')}`)
  } finally {
    await client.end()
  }
}
