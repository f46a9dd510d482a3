import pg from 'pg'
import { openThings } from './open-things.ts'
import { until } from './until.ts'

export type TestDatabaseOptions = {
  /** False gives an empty database without Herald's tables. */
  migrated?: boolean
}

export type TestDatabase = {
  url: string
  /** Removes the database; throws when a connection to it was left open. */
  drop(): Promise<void>
}

/** A database of its own for this spec file, on the server that all spec files of the run share. */
export async function testDatabase({ migrated = true }: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const concierge = process.env.TESTKIT_CONCIERGE
  if (!concierge) throw new Error('testDatabase() works inside jest; elsewhere use startTestServer().')
  const answer = await fetch(`${concierge}/database?migrated=${migrated}`, { method: 'POST' })
  if (!answer.ok) throw new Error(`No test database: ${await answer.text()}`)
  const url = await answer.text()
  const database = { url, drop: () => drop(url).finally(() => openThings().delete(database)) }
  openThings().set(database, `database ${new URL(url).pathname.slice(1)} (call drop())`)
  return database
}

async function drop(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  const client = new pg.Client(Object.assign(new URL(url), { pathname: '/postgres' }).href)
  await client.connect()
  try {
    let leaks: string[] = []
    // A connection that was closed a moment ago may still be listed.
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
      { seconds: 3 },
    ).catch(() => {})
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
    if (leaks.length > 0)
      throw new Error(`${leaks.length} connections to the test database were left open: ${leaks.join('; ')}`)
  } finally {
    await client.end()
  }
}
