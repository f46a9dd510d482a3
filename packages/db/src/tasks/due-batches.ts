import { PATIENCE_SECONDS } from '@herald/domain'
import { readyOrder } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { type Days, inDays, runWithin, searchWithin } from '../store/days.ts'
import { areBuilt } from '../store/late-indexes.ts'
import { batchDays } from '../store/open-days.ts'
import type { Runner } from '../store/statement.ts'

/** Due batches that one look reads. If there are more, certificates or tasks are walked, so that those of one do not hide others. */
const MAX_DUE = 500
/** A breaker whose time has come is looked at for this long. If there was nothing to send as a probe until then, only walks look at it. */
const PROBE_SECONDS = 60

export const patience = `interval '${PATIENCE_SECONDS} seconds'`

export const lanes = `(VALUES ('high'), ('normal')) AS l (lane)`

/** That a certificate has ready batches with such a time: one row per lane is read. */
export const hasReadySql = (certificateId: string, notBefore: string, of = lanes) =>
  `EXISTS (SELECT 1 FROM ${of} CROSS JOIN LATERAL (
     SELECT 1 FROM batch WHERE ${inDays('task_id')} AND state = 'ready' AND certificate_id = ${certificateId} AND node IS NULL
       AND lane = l.lane AND not_before ${notBefore} ORDER BY ${readyOrder} LIMIT 1
   ) b)`

/** Whether the indexes by time are complete. Until then what is due is searched among everything that is open. */
export const isByTime = (db: Database) => areBuilt(db, ['batch_due', 'batch_paced_due'])

// As in the indexes batch_due and batch_paced_due. Batches with a time only.
const timed = {
  ready: `${inDays('task_id')} AND state = 'ready' AND certificate_id IS NOT NULL AND node IS NULL AND not_before < 'infinity'`,
  paced: `${inDays('task_id')} AND state = 'paced' AND not_before < 'infinity'`,
}
type Timed = keyof typeof timed

const due = (state: Timed) => `FROM batch WHERE ${timed[state]} AND not_before <= now() ORDER BY not_before`

/** Of the batches `d`, those that may be released. While a breaker is open, nothing is before its time. */
const notResting = `NOT EXISTS (
  SELECT 1 FROM breaker r WHERE r.certificate_id = d.certificate_id AND r.retry_at > now() AND r.opened_at > now() - ${patience})`

const lateBreakers = `breaker WHERE retry_at <= now() AND retry_at > now() - interval '${PROBE_SECONDS} seconds'`

/** Certificates of which a batch that waits for them can be sent as a probe. */
const probed = `SELECT p.certificate_id FROM (SELECT certificate_id FROM ${lateBreakers}) p
  JOIN certificate c ON c.id = p.certificate_id AND c.state <> 'closed' WHERE ${hasReadySql('p.certificate_id', "= 'infinity'")}`

/** What `readyCertificates` finds in a whole turn, without a look at certificates whose batches wait; undefined if much is due. */
export function dueCertificates(db: Database): Promise<number[] | undefined> {
  return lookAtDue(
    db,
    'due-certificates',
    `WITH due AS MATERIALIZED (SELECT certificate_id ${due('ready')} LIMIT ${MAX_DUE})
     SELECT (SELECT count(*)::int FROM due), ARRAY(SELECT certificate_id FROM due d WHERE ${notResting} UNION ${probed})`,
  )
}

/** The same for `pacedTasks`. */
export function duePacedTasks(db: Database): Promise<number[] | undefined> {
  return lookAtDue(
    db,
    'due-paced',
    `WITH due AS MATERIALIZED (SELECT task_id ${due('paced')} LIMIT ${MAX_DUE})
     SELECT (SELECT count(*)::int FROM due), ARRAY(
       SELECT t.id FROM (SELECT DISTINCT task_id FROM due) d JOIN task t ON t.id = d.task_id
       WHERE ${inDays('t.id')} AND NOT t.paused AND NOT t.cancelling)`,
  )
}

async function lookAtDue(db: Database, name: string, text: string): Promise<number[] | undefined> {
  if (!(await isByTime(db))) return undefined
  const [row] = await searchWithin<[batches: number, ids: number[]]>(db, await batchDays(db), name, text, [])
  const [batches, ids] = row!
  return batches < MAX_DUE ? ids.sort((a, b) => a - b) : undefined
}

/** If all that was read rests, there may be others behind it. */
const isDue = (
  state: Timed,
) => `EXISTS (SELECT 1 FROM (SELECT certificate_id ${due(state)} LIMIT ${MAX_DUE}) d WHERE ${notResting})
  OR EXISTS (SELECT 1 ${due(state)} OFFSET ${MAX_DUE - 1} LIMIT 1)`
const next = (state: Timed) =>
  `(SELECT not_before FROM batch WHERE ${timed[state]} AND not_before > now() ORDER BY not_before LIMIT 1)`

// Each order is that of a partial index, which contains nothing else: Postgres could also read everything that is open.
export const anyOf = (table: string, condition: string, order: string) =>
  `(SELECT task_id FROM ${table} WHERE ${inDays('task_id')} AND ${condition} ORDER BY ${order} LIMIT 1) IS NOT NULL`
const openBundle = anyOf('bundle', `state <> 'settled'`, 'task_id')
const inFlight = [
  anyOf('batch', `state = 'released'`, 'certificate_id, released_at'),
  anyOf('batch', `state IN ('sending', 'awaiting_ack')`, 'certificate_id, lease_until'),
  anyOf('batch', `state = 'ready' AND certificate_id IS NULL AND node IS NOT NULL`, 'certificate_id, node'),
  openBundle,
]

const dueSql = `WITH first AS MATERIALIZED (
    SELECT (SELECT deadline FROM batch WHERE ${inDays('task_id')} AND state IN ('ready', 'paced', 'held') ORDER BY deadline LIMIT 1) AS deadline,
      ${next('ready')} AS ready_at, ${next('paced')} AS paced_at,
      (SELECT retry_at FROM breaker WHERE retry_at > now() ORDER BY retry_at LIMIT 1) AS retry_at
  )
  SELECT ${inFlight.join(' OR ')} OR coalesce(deadline <= now(), false) OR ${isDue('ready')} OR ${isDue('paced')} OR EXISTS (${probed}),
    EXISTS (SELECT 1 FROM ${lateBreakers}) AND ${anyOf('batch', `state = 'paced' AND not_before = 'infinity'`, 'not_before')},
    extract(epoch FROM least(deadline, ready_at, paced_at, retry_at) - now())::float8 * 1000
  FROM first`
/** Without the indexes by time: if anything is open, something may be due. */
const openSql = `SELECT ${anyOf('batch', `state <> 'settled'`, 'task_id')} OR ${openBundle}, false, NULL::float8`

export type DueBatches = {
  /** Some have to be released, or watched while they are sent, or have expired. */
  send: boolean
  /** Some with a speed limit wait for their certificate, and a breaker allows a probe. */
  wake: boolean
  /** Milliseconds until the next are due, if known. */
  nextMs: number | undefined
}

/** Within a search (`beginSearch`). */
export async function findDueBatches(runner: Runner, days: Days, byTime: boolean): Promise<DueBatches> {
  const [name, text] = byTime ? ['due-batches', dueSql] : ['open-batches', openSql]
  const [row] = await runWithin<[boolean, boolean, number | null]>(runner, days, name, text, [])
  const [send, wake, nextMs] = row!
  return { send, wake, nextMs: nextMs ?? undefined }
}
