import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** The applications whose data has changed; `all`: it is not known which. */
export type ChangedApplications = { all: boolean; ids: ReadonlySet<string> }

/**
 * Reports which applications have changed, for caches: one statement per second and process, however many applications are in
 * use, and none while no cache is used.
 */
export type Changes = {
  /** Resolves when the changes committed more than MAX_AGE_MS ago are reported; undefined if they are. */
  refreshed(): Promise<void> | undefined
  /** Changes of the application's row, its certificates, their breakers and holds. */
  onApplications(listener: (changed: ChangedApplications) => void): void
  /** Changes of token versions; users and groups that were deleted. */
  onUsers(listener: (changed: ChangedApplications) => void): void
}

/** How long this process may use what another process has changed. Monotonic: revoked tokens must not outlive a clock set back. */
const MAX_AGE_MS = 1000
/** Rows are kept for an hour (retention). After a longer pause than this, everything is read again. */
const MAX_PAUSE_SECONDS = 900
export const changeDays = 1 / 24
/** More changes than this are not listed: reading everything again is cheaper. */
const MAX_LISTED = 10_000

type Subject = 'application' | 'users'
type Row = [subject: Subject, appId: string | null]

const feeds = new WeakMap<Database, Changes>()

/** Returns the changes that all caches of a process share. */
export function changesOf(db: Database): Changes {
  let changes = feeds.get(db)
  if (!changes) {
    changes = createChanges(db)
    feeds.set(db, changes)
  }
  return changes
}

function createChanges(db: Database): Changes {
  const listeners: Record<Subject, ((changed: ChangedApplications) => void)[]> = {
    application: [],
    users: [],
  }
  /** What was visible when changes were last read. */
  let last: string | undefined
  /** Time of the last snapshot, Unix seconds by the clock of Postgres. */
  let at = 0
  let askedAt = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined

  function report(subject: Subject, changed: ChangedApplications): void {
    if (changed.all || changed.ids.size > 0) for (const listener of listeners[subject]) listener(changed)
  }

  async function ask(): Promise<void> {
    const began = performance.now()
    const [row] = await run<[snapshot: string, now: number, rows: Row[]]>(
      db.pool,
      'changes',
      // One statement, so that the rows are those of the snapshot.
      `SELECT pg_current_snapshot()::text, extract(epoch FROM clock_timestamp())::float8,
         coalesce((SELECT json_agg(json_build_array(subject, app_id)) FROM (
           SELECT subject, app_id FROM change
           WHERE xid >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(xid, $1::pg_snapshot)
           LIMIT ${MAX_LISTED + 1}) c), '[]')`,
      [last ?? null],
    )
    const [snapshot, now, rows] = row!
    // A lower transaction id is another server: a replica that did not have the last transactions, or a restored backup.
    const isLost =
      last === undefined ||
      oldestOpen(snapshot) < oldestOpen(last) ||
      Math.abs(now - at) > MAX_PAUSE_SECONDS ||
      rows.length > MAX_LISTED
    for (const subject of ['application', 'users'] as const) {
      const ids = rows.filter((change) => change[0] === subject).map((change) => change[1])
      const known = ids.filter((id) => id !== null)
      report(subject, { all: isLost || known.length < ids.length, ids: new Set(known) })
    }
    last = snapshot
    at = now
    askedAt = began
  }

  return {
    refreshed() {
      if (performance.now() - askedAt < MAX_AGE_MS) return undefined
      asking ??= ask().finally(() => {
        asking = undefined
      })
      return asking
    },
    onApplications: (listener) => void listeners.application.push(listener),
    onUsers: (listener) => void listeners.users.push(listener),
  }
}

/** The first transaction that was open: a snapshot is written as `xmin:xmax:list`. */
const oldestOpen = (snapshot: string) => BigInt(snapshot.slice(0, snapshot.indexOf(':')))
