import { type Runner, run } from './statement.ts'

/** Of the days before `upto`, only those of `open` have open work, or ever will: what has ended does not begin again, and new tasks get new ids. */
export type FoundDays = { upto: number; open: number[] }

/** What the last look at all days has found, in this or another process; undefined if there was none, or if the clock was set back since. */
export async function readFoundDays(runner: Runner): Promise<(FoundDays & { ageMs: number }) | undefined> {
  const [row] = await run<[upto: number, open: number[], ageMs: number]>(
    runner,
    'found-days',
    'SELECT upto, days, (extract(epoch FROM now() - found_at) * 1000)::float8 FROM open_days WHERE found_at <= now()',
    [],
  )
  return row && { upto: row[0], open: row[1], ageMs: row[2] }
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
