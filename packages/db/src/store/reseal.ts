import type { Database } from './database.ts'
import { SealBroken, type Sealer } from './seal.ts'

export type ResealReport = {
  /** Sealed anew with the present key. */
  resealed: number
  /** Opened by none of the keys: they need the key that is missing, or saving again. */
  broken: number
}

type Row = { sealed: Buffer; bound_to: string; key: unknown[] }

/**
 * Every table with sealed values: how a row is bound, and how it is found again. A new table of secrets belongs here, or a
 * rotation would leave it behind; a spec compares this list with the columns that exist.
 */
export const sealedTables: Readonly<Record<string, { read: string; write: string }>> = {
  certificate: {
    read: `SELECT sealed, jsonb_build_array(id) AS key, 'certificate/' || app_id || '/' || channel || '/' ||
             CASE environment WHEN 1 THEN 'production' ELSE 'development' END AS bound_to FROM certificate`,
    write: 'UPDATE certificate SET sealed = $1 WHERE sealed = $2 AND id = $3',
  },
  instance_key: {
    read: `SELECT sealed, jsonb_build_array(name) AS key, 'instance-key/' || name AS bound_to FROM instance_key`,
    write: 'UPDATE instance_key SET sealed = $1 WHERE sealed = $2 AND name = $3',
  },
  vendor_session: {
    read: `SELECT sealed, jsonb_build_array(certificate_id, key) AS key, 'session:' || certificate_id || ':' || key AS bound_to
           FROM vendor_session WHERE sealed IS NOT NULL`,
    write: 'UPDATE vendor_session SET sealed = $1 WHERE sealed = $2 AND certificate_id = $3 AND key = $4',
  },
}

/**
 * Seals what other keys sealed anew with the present one. May run at any time and on any number of processes: a row that
 * somebody changed meanwhile is left as they wrote it. The secrets themselves do not change, so neither do versions.
 */
export async function resealSecrets(db: Database, sealer: Sealer): Promise<ResealReport> {
  const report: ResealReport = { resealed: 0, broken: 0 }
  for (const { read, write } of Object.values(sealedTables)) {
    const { rows } = await db.pool.query<Row>(read)
    for (const { sealed, bound_to: boundTo, key } of rows) {
      if (sealer.isCurrent(sealed, boundTo)) continue
      const plain = opened(sealer, sealed, boundTo)
      if (plain === undefined) {
        report.broken++
        continue
      }
      const { rowCount } = await db.pool.query(write, [sealer.seal(plain, boundTo), sealed, ...key])
      report.resealed += rowCount ?? 0
    }
  }
  return report
}

function opened(sealer: Sealer, sealed: Uint8Array, boundTo: string): string | undefined {
  try {
    return sealer.open(sealed, boundTo)
  } catch (error) {
    if (error instanceof SealBroken) return undefined
    throw error
  }
}
