import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'

/** Deletes a user with its memberships, and the failed logins under any of its names. */
export async function eraseUser(db: Database, appId: string, userId: bigint): Promise<void> {
  await retrying(() =>
    db.pool.query(
      // The forms in which logins are counted: as typed, in lower case, and by the user they belong to.
      `WITH gone AS (
         DELETE FROM app_user WHERE id = $1::bigint AND app_id = $2 RETURNING username, mobile, email
       ), logins AS (
         SELECT lower(n.name) AS login FROM gone, unnest(ARRAY['#' || $1, username, mobile, email]) AS n (name)
         WHERE n.name IS NOT NULL
       )
       DELETE FROM login_failure WHERE app_id = $2 AND login IN (
         SELECT login FROM logins UNION ALL SELECT 'No user ' || login FROM logins UNION ALL SELECT 'User ' || $1)`,
      [String(userId), appId],
    ),
  )
}
