import type { Database } from '../store/database.ts'

export const loginLimit = { failures: 10, windowSeconds: 900 }

/**
 * Counts a failure before the password is checked, so that concurrent guesses in several processes cannot exceed the limit;
 * `uncountLoginAttempt` reverts it when the password is right. Returns the seconds to wait if the limit is reached.
 */
export async function countLoginAttempt(
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
  return counted.rowCount === 1 ? undefined : ((await loginLock(db, appId, login)) ?? { waitSeconds: 1 })
}

/** Returns the seconds to wait if the limit is reached; counts nothing. */
export async function loginLock(
  db: Database,
  appId: string,
  login: string,
): Promise<{ waitSeconds: number } | undefined> {
  const { rows } = await db.pool.query<{ wait: number }>({
    name: 'login-lock',
    text: `SELECT ceil(extract(epoch FROM window_start + make_interval(secs => $4) - now()))::int AS wait
      FROM login_failure WHERE app_id = $1 AND login = $2 AND failures >= $3`,
    values: [appId, login, loginLimit.failures, loginLimit.windowSeconds],
  })
  return rows[0] && rows[0].wait > 0 ? { waitSeconds: rows[0].wait } : undefined
}

export async function uncountLoginAttempt(db: Database, appId: string, login: string): Promise<void> {
  await db.pool.query({
    name: 'uncount-login',
    // A row left at zero would start the next window too early.
    text: `WITH last AS (DELETE FROM login_failure WHERE app_id = $1 AND login = $2 AND failures <= 1)
      UPDATE login_failure SET failures = failures - 1 WHERE app_id = $1 AND login = $2 AND failures > 1`,
    values: [appId, login],
  })
}
