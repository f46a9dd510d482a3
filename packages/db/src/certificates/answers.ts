import type { Channel } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'
import { noteUseSql } from './certificate-use.ts'

/** What was sent with a certificate, or by the native channel to an application, since the last write. */
export type SentFigures = {
  appId: string
  channel: Channel
  /** Null: the native channel. */
  certificateId: number | null
  /** Devices. */
  sent: number
  failed: number
  /** Attempts, one per device, that the vendor decided. */
  answered: number
  /** Attempts that it did not decide: it did not answer, asked to slow down or refused the credentials. */
  unanswered: number
  error?: { code: string; text: string }
}

const addTokensSql = `INSERT INTO token_window AS w (certificate_id, minute, answered, gone)
  SELECT a.id, date_trunc('minute', now()), a.answered, 0 FROM unnest($1::bigint[], $2::bigint[]) AS a (id, answered)
  WHERE EXISTS (SELECT 1 FROM certificate c WHERE c.id = a.id) ORDER BY a.id
  ON CONFLICT (certificate_id, minute) DO UPDATE SET answered = w.answered + excluded.answered
  RETURNING set_config('synchronous_commit', 'off', true)`

const part = `(floor(extract(second FROM now()) / 10)::int + 1)`
const parts = (count: string) =>
  `ARRAY(SELECT CASE n WHEN ${part} THEN ${count} ELSE 0 END FROM generate_series(1, 6) n)`

/**
 * One row per certificate and minute, and one per channel and minute for all applications, so that the operator's figures do not cost
 * more with more applications. Rows are locked in the order of the key, and after them those of token_window: a CTE that nothing reads
 * runs last.
 */
const addFiguresSql = `WITH tokens AS (${addTokensSql}), given AS (
    SELECT * FROM unnest($3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::text[])
      AS g (app_id, channel, certificate_id, sent, failed, answered, unanswered, code, text)
  ), used AS (${noteUseSql('(SELECT certificate_id AS id FROM given WHERE sent > 0)')}), summed AS (
    SELECT * FROM given
    UNION ALL SELECT '', channel, 0, sum(sent), sum(failed), sum(answered), sum(unanswered), min(code),
      (array_agg(text ORDER BY code) FILTER (WHERE code IS NOT NULL))[1] FROM given GROUP BY channel
  )
  INSERT INTO channel_minute AS m (app_id, minute, channel, certificate_id, sent, failed, sent_parts, failed_parts, answered, unanswered,
    error_code, error_text, error_at, sent_at)
  SELECT app_id, date_trunc('minute', now()), channel, certificate_id, sent, failed, ${parts('sent')}, ${parts('failed')}, answered, unanswered,
    code, text, CASE WHEN code IS NOT NULL THEN now() END, CASE WHEN sent > 0 THEN now() END
  FROM summed ORDER BY app_id, channel, certificate_id
  ON CONFLICT (app_id, minute, channel, certificate_id) DO UPDATE SET sent = m.sent + excluded.sent, failed = m.failed + excluded.failed,
    sent_parts[${part}] = m.sent_parts[${part}] + excluded.sent, failed_parts[${part}] = m.failed_parts[${part}] + excluded.failed,
    answered = m.answered + excluded.answered, unanswered = m.unanswered + excluded.unanswered,
    error_code = coalesce(excluded.error_code, m.error_code), error_text = coalesce(excluded.error_text, m.error_text),
    error_at = coalesce(excluded.error_at, m.error_at), sent_at = coalesce(excluded.sent_at, m.sent_at)
  RETURNING set_config('synchronous_commit', 'off', true)`

/**
 * Adds answers about tokens, by certificate, to those of the present minute: the guard against mass retirement compares the dead tokens
 * with them. Adds what was sent, in the same statement, if there is something. Not flushed to disk: after a crash of Postgres the guard
 * knows of fewer answers, and rather retires no token.
 */
export async function addAnswers(
  db: Database,
  answers: ReadonlyMap<number, number>,
  figures: readonly SentFigures[] = [],
): Promise<void> {
  const tokens = [[...answers.keys()], [...answers.values()]]
  if (figures.length === 0) {
    await run(db.pool, 'add-answers', addTokensSql, tokens)
    return
  }
  const column = <T>(field: (one: SentFigures) => T) => figures.map(field)
  await run(db.pool, 'add-figures', addFiguresSql, [
    ...tokens,
    column(({ appId }) => appId),
    column(({ channel }) => channel),
    column(({ certificateId }) => certificateId ?? 0),
    column(({ sent }) => sent),
    column(({ failed }) => failed),
    column(({ answered }) => answered),
    column(({ unanswered }) => unanswered),
    column(({ error }) => error?.code ?? null),
    column(({ error }) => error?.text ?? null),
  ])
}
