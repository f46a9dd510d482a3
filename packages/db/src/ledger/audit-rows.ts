import type { AuditAction } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { type Runner, run } from '../store/statement.ts'

/** Who makes a change, and from where. */
export type By = { actor: string; address?: string }

/** `detail` has ids and never a secret. */
export type AuditDetail = Record<string, string | number | boolean | null>

export type AuditEntry = { appId?: string; by: By; action: AuditAction; detail?: AuditDetail }

/** Adds an entry. `runner` must be that of the transaction of the change: there is no change without its entry, and no entry without it. */
export async function addAudit(runner: Runner, entry: AuditEntry): Promise<number> {
  const [row] = await run<[id: number]>(
    runner,
    'add-audit',
    'INSERT INTO audit (app_id, actor, action, detail) VALUES ($1, $2, $3, $4) RETURNING id',
    valuesOf(entry),
  )
  return row![0]
}

/** Adds an entry for each row of a step of the same statement; `actor` and `address` are its parameters. Without an actor there is none. */
export function addAuditSql(
  action: AuditAction,
  { from, appId, detail, actor, address }: Record<'from' | 'appId' | 'detail' | 'actor' | 'address', string>,
): string {
  return `INSERT INTO audit (app_id, actor, action, detail)
  SELECT ${appId}, ${actor}::text, '${action}', ${detail} || jsonb_build_object('address', ${address}::text)
  FROM ${from} AND ${actor}::text IS NOT NULL`
}

/** The row for Prisma. */
export function auditRow(entry: AuditEntry) {
  const [appId, actor, action, detail] = valuesOf(entry)
  return { appId, actor, action, detail }
}

function valuesOf({
  appId,
  by,
  action,
  detail,
}: AuditEntry): [appId: string | null, actor: string, action: AuditAction, detail: AuditDetail] {
  const noted = by.address === undefined ? detail : { ...detail, address: by.address }
  return [appId || null, by.actor, action, noted ?? {}]
}

/**
 * Adds the entry of a change that takes many transactions, before the first of them, and `detail` of the result when it has ended. If it
 * fails or the process dies, the entry is there without the result.
 */
export async function audited<T>(
  db: Database,
  entry: AuditEntry,
  change: () => Promise<T>,
  resultOf: (result: T) => AuditDetail,
): Promise<T> {
  const id = await addAudit(db.pool, entry)
  const result = await change()
  await run(db.pool, 'complete-audit', 'UPDATE audit SET detail = detail || $2::jsonb WHERE id = $1', [
    id,
    resultOf(result),
  ])
  return result
}
