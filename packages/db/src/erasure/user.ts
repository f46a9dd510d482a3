import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
import { inTransaction } from '../store/statement.ts'

/** Deletes a user with its memberships, and the failed logins under any of its names. */
export async function eraseUser(db: Database, appId: string, userId: bigint): Promise<void> {
  await retrying(() =>
    inTransaction(db, async (runner) => {
      const { rows } = await runner.query<{ username: string; mobile: string | null; email: string | null }>(
        'DELETE FROM app_user WHERE id = $1 AND app_id = $2 RETURNING username, mobile, email',
        [userId, appId],
      )
      const names = rows.flatMap(({ username, mobile, email }) => [`#${userId}`, username, mobile, email])
      // The forms in which logins are counted: in lower case, and by the user they belong to. Not lower() of Postgres, which has other rules
      // for some letters.
      const logins = names.flatMap((name) => (name === null ? [] : [name.toLowerCase()]))
      await runner.query('DELETE FROM login_failure WHERE app_id = $1 AND login = ANY ($2::text[])', [
        appId,
        [...logins, ...logins.map((login) => `No user ${login}`), `User ${userId}`],
      ])
    }),
  )
}
