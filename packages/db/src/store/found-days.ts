import { type Runner, run } from './statement.ts'

/** Of the days before `upto`, only those of `open` have open work, or ever will: what has ended does not begin again, and new tasks get new ids. */
export type FoundDays = { upto: number; open: number[] }

type Found = {
  /**
   * The timeline and the database. Another one after a failover or a restore: work that had ended may be open there. The row is right also
   * there, because it was written after what it says. Empty timeline: a standby.
   */
  server: string
  /** What the last look at all days has found, in this or another process; undefined if there was none, or if the clock was set back since. */
  found?: FoundDays & { ageMs: number }
}

export async function readFoundDays(runner: Runner): Promise<Found> {
  const [row] = await run<[server: string, upto: number | null, open: number[], ageMs: number]>(
    runner,
    'found-days',
    `SELECT concat_ws(' ', CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END, d.oid),
       o.upto, o.days, (extract(epoch FROM now() - o.found_at) * 1000)::float8
     FROM pg_database d LEFT JOIN open_days o ON o.found_at <= now()
     WHERE d.datname = current_database()`,
    [],
  )
  const [server, upto, open, ageMs] = row!
  return { server, found: upto === null ? undefined : { upto, open, ageMs } }
}

export async function noteFoundDays(runner: Runner, { upto, open }: FoundDays): Promise<void> {
  await run(
    runner,
    'note-found-days',
    `INSERT INTO open_days (upto, days) VALUES ($1, $2)
     ON CONFLICT (one) DO UPDATE SET upto = excluded.upto, days = excluded.days, found_at = excluded.found_at`,
    [upto, open],
  )
}
