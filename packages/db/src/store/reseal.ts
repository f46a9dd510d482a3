import type { Database } from './database.ts'
import type { Sealer } from './seal.ts'

export type ResealReport = {
  /** Sealed again with the current key. */
  resealed: number
  /** None of the keys opens them: give the missing key, or save the secret again. */
  broken: number
}

type Row = { sealed: Buffer; bound_to: string; key: unknown[] }

const placeSql = `app_id || '/' || channel || '/' || CASE environment WHEN 1 THEN 'production' ELSE 'development' END
  || CASE region WHEN '' THEN '' ELSE '/' || region END`

/**
 * All columns with sealed values: `read` returns what each value is bound to, `write` replaces one value. A column that is missing
 * here would be skipped by a key rotation; a spec compares this list with the columns that exist.
 */
export const sealedColumns: Readonly<Record<string, { read: string; write: string }>> = {
  'certificate.callback_key_sealed': {
    read: `SELECT callback_key_sealed AS sealed, jsonb_build_array(id) AS key, 'callback-key/' || ${placeSql} AS bound_to
           FROM certificate WHERE callback_key_sealed IS NOT NULL`,
    write: 'UPDATE certificate SET callback_key_sealed = $1 WHERE callback_key_sealed = $2 AND id = $3',
  },
  'certificate.sealed': {
    read: `SELECT sealed, jsonb_build_array(id) AS key, 'certificate/' || ${placeSql} AS bound_to FROM certificate`,
    write: 'UPDATE certificate SET sealed = $1 WHERE sealed = $2 AND id = $3',
  },
  'instance_key.sealed': {
    read: `SELECT sealed, jsonb_build_array(name) AS key, 'instance-key/' || name AS bound_to FROM instance_key`,
    write: 'UPDATE instance_key SET sealed = $1 WHERE sealed = $2 AND name = $3',
  },
  'shared_session.sealed': {
    read: `SELECT sealed, jsonb_build_array(key) AS key, 'shared-session:' || key AS bound_to
           FROM shared_session WHERE sealed IS NOT NULL`,
    write: 'UPDATE shared_session SET sealed = $1 WHERE sealed = $2 AND key = $3',
  },
  'vendor_session.sealed': {
    read: `SELECT sealed, jsonb_build_array(certificate_id, key) AS key, 'session:' || certificate_id || ':' || key AS bound_to
           FROM vendor_session WHERE sealed IS NOT NULL`,
    write: 'UPDATE vendor_session SET sealed = $1 WHERE sealed = $2 AND certificate_id = $3 AND key = $4',
  },
  'webhook.sealed': {
    read: `SELECT sealed, jsonb_build_array(id) AS key, 'webhook/' || app_id || '/' || name AS bound_to FROM webhook`,
    write: 'UPDATE webhook SET sealed = $1 WHERE sealed = $2 AND id = $3',
  },
}

/**
 * Seals secrets of other keys again with the current key. May run at any time and in several processes: a row that changed after
 * it was read is left alone. The secrets do not change, so their versions do not either.
 */
export async function resealSecrets(db: Database, sealer: Sealer): Promise<ResealReport> {
  const report: ResealReport = { resealed: 0, broken: 0 }
  for (const { read, write } of Object.values(sealedColumns)) {
    const { rows } = await db.pool.query<Row>(read)
    for (const { sealed, bound_to: boundTo, key } of rows) {
      if (sealer.isCurrent(sealed, boundTo)) continue
      const plain = sealer.tryOpen(sealed, boundTo)
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
