import { clip } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/**
 * A part of a certificate that the vendor refused or whose quota is used up. After `until` it is kept for a day as a warning to the
 * operator. Times in Unix ms.
 */
export type StoredHold = {
  scope: string
  kind: 'rejected' | 'quota'
  code: string
  text: string
  firstAt: number
  lastAt: number
  until: number
}

/** Returns the holds of an application by certificate, ended ones included. */
export async function holdsOf(db: Database, application: string): Promise<Map<number, StoredHold[]>> {
  const ms = (column: string) => `(extract(epoch FROM h.${column}) * 1000)::float8`
  const rows = await run<[number, string, StoredHold['kind'], string, string, number, number, number]>(
    db.pool,
    'holds',
    `SELECT h.certificate_id, h.scope, h.kind, h.code, h.text, ${ms('first_at')}, ${ms('last_at')}, ${ms('until')}
     FROM certificate_hold h JOIN certificate c ON c.id = h.certificate_id WHERE c.app_id = $1 ORDER BY 1, 2`,
    [application],
  )
  const holds = new Map<number, StoredHold[]>()
  for (const [id, scope, kind, code, text, firstAt, lastAt, until] of rows) {
    const hold = { scope, kind, code, text, firstAt, lastAt, until }
    const known = holds.get(id)
    if (known) known.push(hold)
    else holds.set(id, [hold])
  }
  return holds
}

/** Adds a hold or extends it. Keeps the time of the first refusal as long as the row exists. */
export async function storeHold(
  db: Database,
  certificateId: number,
  hold: Pick<StoredHold, 'scope' | 'kind' | 'code' | 'text' | 'until'>,
): Promise<void> {
  await run(
    db.pool,
    'store-hold',
    `INSERT INTO certificate_hold AS h (certificate_id, scope, kind, code, text, until)
     SELECT id, $2, $3, $4, $5, to_timestamp($6::float8 / 1000) FROM certificate WHERE id = $1
     ON CONFLICT (certificate_id, scope) DO UPDATE SET kind = excluded.kind, code = excluded.code, text = excluded.text,
       last_at = now(), until = GREATEST(h.until, excluded.until)`,
    [certificateId, clip(hold.scope), hold.kind, clip(hold.code), clip(hold.text), hold.until],
  )
}

/** For an operator who has corrected the cause. */
export async function clearHolds(db: Database, certificateId: number): Promise<void> {
  await run(db.pool, 'clear-holds', 'DELETE FROM certificate_hold WHERE certificate_id = $1', [certificateId])
}
