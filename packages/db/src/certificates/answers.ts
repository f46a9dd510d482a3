import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/**
 * Adds answers about tokens, by certificate, to those of the present minute: the guard against mass retirement compares the dead tokens
 * with them. Not flushed to disk: after a crash of Postgres the guard knows of fewer answers, and rather retires no token.
 */
export async function addAnswers(db: Database, answers: ReadonlyMap<number, number>): Promise<void> {
  await run(
    db.pool,
    'add-answers',
    `INSERT INTO token_window AS w (certificate_id, minute, answered, gone)
     SELECT a.id, date_trunc('minute', now()), a.answered, 0 FROM unnest($1::bigint[], $2::bigint[]) AS a (id, answered)
     WHERE EXISTS (SELECT 1 FROM certificate c WHERE c.id = a.id) ORDER BY a.id
     ON CONFLICT (certificate_id, minute) DO UPDATE SET answered = w.answered + excluded.answered
     RETURNING set_config('synchronous_commit', 'off', true)`,
    [[...answers.keys()], [...answers.values()]],
  )
}
