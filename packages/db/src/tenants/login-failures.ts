import type { Database } from '../store/database.ts'

export const loginLimit = { failures: 10, windowSeconds: 900 }

/**
 * Counts a failure before the password is tried, so that parallel guesses in any number of processes cannot exceed the
 * limit; `forgiveLogin` takes it back when the password was right. Answers the seconds to wait when the limit is reached.
 */
export async function countLogin(
  db: Database,
  appId: string,
  login: string,
): Promise<{ waitSeconds: number } | undefined> {
  const { failures, windowSeconds } = loginLimit
  const counted = await db.pool.query({
    name: 'count-login',
    text: `INSERT INTO login_failure AS f (app_id, login, failures, window_start) VALUES ($1, $2, 1, now())
      ON CONFLICT (app_id, login) DO UPDATE
      SET failures = CASE WHEN f.window_start <= now() - make_interval(secs => $4) THEN 1 ELSE f.failures + 1 END,
          window_start = CASE WHEN f.window_start <= now() - make_interval(secs => $4) THEN now() ELSE f.window_start END
      WHERE f.failures < $3 OR f.window_start <= now() - make_interval(secs => $4)`,
    values: [appId, login, failures, windowSeconds],
  })
  if (counted.rowCount === 1) return undefined
  const { rows } = await db.pool.query<{ wait: number }>(
    `SELECT ceil(extract(epoch FROM window_start + make_interval(secs => $3) - now()))::int AS wait
     FROM login_failure WHERE app_id = $1 AND login = $2`,
    [appId, login, windowSeconds],
  )
  return { waitSeconds: Math.max(1, rows[0]?.wait ?? 1) }
}

export async function forgiveLogin(db: Database, appId: string, login: string): Promise<void> {
  await db.pool.query({
    name: 'forgive-login',
    // A row left at zero would start the next window too early.
    text: `WITH last AS (DELETE FROM login_failure WHERE app_id = $1 AND login = $2 AND failures <= 1)
      UPDATE login_failure SET failures = failures - 1 WHERE app_id = $1 AND login = $2 AND failures > 1`,
    values: [appId, login],
  })
}
