import type { Database } from '../store/database.ts'
import { beginSearch, inDays, runWithin } from '../store/days.ts'
import { olderDays, presentDays } from '../store/open-days.ts'
import { inUncheckedTransaction, type Runner } from '../store/statement.ts'
import { type DueBatches, findDueBatches, isByTime } from './due-batches.ts'

/** Which rounds of the planner have something to do. */
export type DueWork = DueBatches & {
  plan: boolean
  native: boolean
  /** Closed certificates are to be checked. */
  probe: boolean
  /** The last change of applications, certificates and breakers: batches that wait for their certificate may be due after another. */
  change?: number
  /** Milliseconds until the first of what becomes due by itself; undefined if nothing does. Without the leases of gateways. */
  nextMs: number | undefined
}

/**
 * How long a look at older days is used, if nothing of them was due: there may be thirty, of scheduled tasks and inboxes, and a statement
 * that opens them costs twenty times as much as one that opens the present ones, to which new tasks are added. A call that cancels or
 * resumes a task of an older day leaves a check or a change of a pause, which every call sees.
 */
const LOOK_MS = 5000
const NEVER = Number.POSITIVE_INFINITY
/** The last look at older days: until when it is used, and when something of them becomes due by itself, by the clock of this process. */
const looks = new WeakMap<Database['pool'], { until: number; nextAt: number }>()

/**
 * Asks for all rounds at once, so that an idle planner costs two cheap statements instead of twenty, whatever waits. It may return true
 * although there is nothing to do. Work that it does not see is found by the rounds that run at intervals in any case.
 */
export async function findDueWork(db: Database): Promise<DueWork> {
  const last = looks.get(db.pool)
  const now = performance.now()
  const isUsed = last !== undefined && now < Math.min(last.until, last.nextAt)
  const days = await presentDays(db)
  const older = isUsed ? undefined : await olderDays(db)
  const byTime = await isByTime(db)
  return inUncheckedTransaction(
    db,
    async (runner) => {
      const batches = await findDueBatches(runner, days, byTime)
      const [row] = await runWithin<Row>(runner, days, 'due-work', dueWorkSql, [])
      const [plan, send, native, probe, change, ownMs] = row!
      const found = older && (await lookAt(runner, older, byTime))
      const olderMs = found ? found.nextMs : isUsed ? last.nextAt - now : NEVER
      if (found) looks.set(db.pool, { until: found.isDue ? now : now + LOOK_MS, nextAt: now + found.nextMs })
      const nextMs = Math.min(ownMs ?? NEVER, batches.nextMs ?? NEVER, olderMs)
      return {
        plan: (plan ?? false) || (found?.plan ?? false),
        send: send || batches.send || (found?.send ?? false),
        native: (native ?? false) || (found?.native ?? false),
        probe: probe ?? false,
        wake: batches.wake || (found?.wake ?? false),
        change: change ?? undefined,
        nextMs: nextMs === NEVER ? undefined : nextMs,
      }
    },
    beginSearch,
  )
}

/** What is due in older days. */
async function lookAt(
  runner: Runner,
  { open, batches }: Awaited<ReturnType<typeof olderDays>>,
  byTime: boolean,
): Promise<Pick<DueWork, 'plan' | 'send' | 'native' | 'wake'> & { isDue: boolean; nextMs: number }> {
  const ofBatches = batches && (await findDueBatches(runner, batches, byTime))
  const [row] = open ? await runWithin<OlderRow>(runner, open, 'due-older-work', olderWorkSql, []) : []
  const [plan, send, native, ownMs] = row ?? [false, false, false, null]
  const found = {
    plan: plan ?? false,
    send: send || (ofBatches?.send ?? false),
    native: native ?? false,
    wake: ofBatches?.wake ?? false,
  }
  return {
    ...found,
    isDue: Object.values(found).includes(true),
    nextMs: Math.min(ownMs ?? NEVER, ofBatches?.nextMs ?? NEVER),
  }
}

type Row = [
  plan: boolean | null,
  send: boolean,
  native: boolean | null,
  probe: boolean | null,
  change: number | null,
  nextMs: number | null,
]

type OlderRow = [plan: boolean | null, send: boolean, native: boolean | null, nextMs: number | null]

const firstOfDays = `(SELECT begin_at FROM task WHERE ${inDays('id')} AND state = 'accepted' ORDER BY begin_at LIMIT 1) AS begin_at,
      (SELECT expires_at FROM inbox WHERE ${inDays('task_id')} ORDER BY expires_at LIMIT 1) AS expires_at,
      (SELECT fallback_at FROM inbox WHERE ${inDays('task_id')} AND fallback_at IS NOT NULL ORDER BY fallback_at LIMIT 1) AS fallback_at`
const cancelling = `EXISTS (SELECT 1 FROM task WHERE ${inDays('id')} AND cancelling AND state IN ('accepted', 'planning', 'sending'))`
const msUntil = (times: string) => `extract(epoch FROM least(${times}) - now())::float8 * 1000`

const dueWorkSql = `WITH first AS MATERIALIZED (
    SELECT ${firstOfDays},
      (SELECT align_at FROM pause_change ORDER BY align_at LIMIT 1) AS align_at,
      (SELECT probe_at FROM certificate WHERE state = 'closed' ORDER BY probe_at LIMIT 1) AS probe_at
  )
  SELECT
    begin_at <= now() OR EXISTS (SELECT 1 FROM slice),
    (SELECT id FROM task_check ORDER BY id LIMIT 1) IS NOT NULL OR coalesce(align_at <= now(), false) OR ${cancelling},
    least(expires_at, fallback_at) <= now() OR EXISTS (SELECT 1 FROM gateway_node WHERE lease_until <= now()),
    probe_at <= now(),
    (SELECT id FROM change ORDER BY id DESC LIMIT 1),
    ${msUntil('begin_at, align_at, expires_at, fallback_at, probe_at')}
  FROM first`

/** The part that depends on days. */
const olderWorkSql = `WITH first AS MATERIALIZED (SELECT ${firstOfDays})
  SELECT begin_at <= now(), ${cancelling}, least(expires_at, fallback_at) <= now(), ${msUntil('begin_at, expires_at, fallback_at')}
  FROM first`
