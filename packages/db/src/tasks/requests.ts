/** Ids of calls that began within this time before the end of a period may still be on their way into it. */
const OVERLAP = `interval '10 minutes'`

// The periods of request ids, and whether ids are added to them now. Of those that have begun, the last one stays open until the next begins.
// One that has not begun is searched like one that is closed: if the clock was set back over its beginning, it has ids.
const periods = `periods AS MATERIALIZED (
  SELECT period, from_at <= now()
    AND (to_at + ${OVERLAP} > now() OR period = max(period) FILTER (WHERE from_at <= now()) OVER ()) AS open
  FROM request_period
)`

// Whether request_before can find anything. A subquery, so that it is asked once per statement: the function would be called for each request id.
const hasBefore = `(SELECT to_regclass('task_before') IS NOT NULL OR to_regclass('task_request') IS NOT NULL)`

/**
 * Steps that store the request ids of `input` (id, app_id, request_id) that are new; the last, fresh_request, has the task_id of those.
 * An id is new if no period has it: those that are not open are searched, in an open one the insert finds it. It is added to the open
 * period; if there are two, first to the older and then to the newer, so that a call that knows only one of them meets this one there:
 * two calls with the same id insert the same key, and the second waits for the first. An id that was added to the older one only,
 * because the newer had it, points to a task that does not exist; look-ups prefer the newer. Sorted, so that two commits with several
 * ids in common wait for each other instead of deadlocking.
 */
export function requestSteps(input: string): string {
  return `${periods}, asked AS MATERIALIZED (
  SELECT t.id, t.app_id, t.request_id FROM ${input} t WHERE t.request_id IS NOT NULL
    AND (SELECT r.task_id FROM request r
      WHERE r.period = ANY(ARRAY(SELECT period FROM periods WHERE NOT open)) AND r.app_id = t.app_id AND r.request_id = t.request_id LIMIT 1) IS NULL
    AND (NOT ${hasBefore} OR request_before(t.app_id, t.request_id) IS NULL)
), older_period AS (
  INSERT INTO request (period, app_id, request_id, task_id)
  SELECT p.period, a.app_id, a.request_id, a.id FROM asked a, (SELECT min(period) AS period FROM periods WHERE open) p
  ORDER BY a.app_id, a.request_id
  ON CONFLICT (period, app_id, request_id) DO NOTHING
  RETURNING period, app_id, request_id, task_id
), newer_period AS (
  INSERT INTO request (period, app_id, request_id, task_id)
  SELECT p.period, o.app_id, o.request_id, o.task_id FROM older_period o JOIN periods p ON p.open AND p.period > o.period
  ORDER BY o.app_id, o.request_id
  ON CONFLICT (period, app_id, request_id) DO NOTHING
  RETURNING task_id
), fresh_request AS MATERIALIZED (
  SELECT task_id FROM older_period WHERE (SELECT count(*) FROM periods WHERE open) = 1
  UNION ALL SELECT task_id FROM newer_period
)`
}

/** Parameters: applications and request ids. Returns the positions, from 1, of those that were used, and their tasks. */
export const findRequestsSql = `
WITH ${periods}
SELECT k.ord::int, coalesce(r.task_id, request_before(k.app_id, k.request_id)) AS task_id
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (app_id, request_id, ord)
LEFT JOIN LATERAL (
  SELECT r.task_id FROM periods p JOIN request r ON r.period = p.period AND r.app_id = k.app_id AND r.request_id = k.request_id
  ORDER BY p.period DESC LIMIT 1
) r ON true
WHERE k.request_id IS NOT NULL AND coalesce(r.task_id, request_before(k.app_id, k.request_id)) IS NOT NULL`
