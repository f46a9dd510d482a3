import { readFileSync } from 'node:fs'
import { retryWithBackoff, sleep } from '@herald/async'
import type { Database } from '@herald/db/store'

export async function lockTable(db: Database, table: string, seconds: number): Promise<void> {
  const client = await db.pool.connect()
  try {
    await client.query(
      `BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(${seconds}); COMMIT`,
    )
  } finally {
    client.release(true)
  }
}

/** Refuses all writes while `during` runs, as a primary that was demoted does. */
export function makeReadOnly(db: Database, during: () => Promise<unknown>): Promise<void> {
  return withSettings(db, { default_transaction_read_only: 'on' }, during)
}

const COMMIT_DELAY_US = '100000'
const STOPPED_MS = 80
const RUNNING_MS = 20

/**
 * Simulates a slow disk: Postgres waits 0.1 s before it flushes a commit, and its sessions stand still four fifths of the time,
 * as they do while they read and write.
 */
export function slowDisk(db: Database, pid: () => number, seconds: number): Promise<void> {
  return withSettings(db, { commit_delay: COMMIT_DELAY_US, commit_siblings: '0' }, async () => {
    for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
      const sessions = childrenOf(pid())
      signal(sessions, 'SIGSTOP')
      await sleep(STOPPED_MS)
      signal(sessions, 'SIGCONT')
      await sleep(RUNNING_MS)
    }
  })
}

/** Changes settings of the server while `during` runs. */
async function withSettings(
  db: Database,
  settings: Readonly<Record<string, string>>,
  during: () => Promise<unknown>,
): Promise<void> {
  const change = async (statement: (name: string) => string) => {
    for (const name of Object.keys(settings)) await db.pool.query(statement(name))
    await db.pool.query('SELECT pg_reload_conf()')
  }
  await change((name) => `ALTER SYSTEM SET ${name} = ${settings[name]}`)
  await during()
  // Repeated, because a crash of Postgres must not leave them for the rest of the drill.
  await retryWithBackoff(() => change((name) => `ALTER SYSTEM RESET ${name}`), {
    isTransient: () => true,
    firstMs: 200,
    maxMs: 200,
  })
}

/** Empty on systems without this file, where only commits are slow. */
function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // The session has ended.
    }
  }
}
