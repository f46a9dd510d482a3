import { addAudit, type By } from '../ledger/audit-rows.ts'
import type { Database } from '../store/database.ts'
import { inTransaction } from '../store/statement.ts'

/** A public key of an application's sign-in, as a JWK without private parts. */
export type StoredKey = { kid?: string; alg: string; jwk: Record<string, string> }

/** How the sign-in tokens of an application are checked: by `publicKey` (PEM), or by the keys at `jwksUrl`. */
export type IdentitySettings = {
  issuer: string
  audience: string
  userClaim: string
} & ({ publicKey: string; jwksUrl?: undefined } | { jwksUrl: string; publicKey?: undefined })

export type Identity = IdentitySettings & {
  /** The keys that were last read from `jwksUrl`. */
  keySet: StoredKey[]
  /** Seconds since a process last began to read them, and since they were last read; null: never. */
  askedAge: number | null
  readAge: number | null
  /** A read has begun and not ended; the process may have died. */
  unfinished: boolean
  /** Changes with the row. */
  stamp: string
}

type Row = {
  issuer: string
  audience: string
  userClaim: string
  publicKey: string | null
  jwksUrl: string | null
  keySet: StoredKey[] | null
  askedAge: number | null
  readAge: number | null
  unfinished: boolean
  stamp: string
}

export async function findIdentity(db: Database, appId: string): Promise<Identity | undefined> {
  const { rows } = await db.pool.query<Row>({
    name: 'find-identity',
    text: `SELECT issuer, audience, user_claim AS "userClaim", public_key AS "publicKey", jwks_url AS "jwksUrl",
        key_set AS "keySet", xmin::text AS stamp,
        extract(epoch FROM now() - asked_at)::float8 AS "askedAge",
        extract(epoch FROM now() - read_at)::float8 AS "readAge",
        asked_at IS NOT NULL AND asked_at > GREATEST(read_at, updated_at) AS unfinished
      FROM identity WHERE app_id = $1`,
    values: [appId],
  })
  const row = rows[0]
  if (!row) return undefined
  const { publicKey, jwksUrl, keySet, ...rest } = row
  const source = publicKey === null ? { jwksUrl: jwksUrl! } : { publicKey }
  return { ...rest, ...source, keySet: keySet ?? [] }
}

/** Replaces the settings. `keySet` is what was just read from `jwksUrl`. */
export async function saveIdentity(
  db: Database,
  appId: string,
  settings: IdentitySettings,
  keySet: StoredKey[] | undefined,
  by?: By,
): Promise<void> {
  await inTransaction(db, async (runner) => {
    await runner.query(
      `INSERT INTO identity AS i (app_id, issuer, audience, user_claim, public_key, jwks_url, key_set, asked_at, read_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb, CASE WHEN $6::text IS NOT NULL THEN now() END,
       CASE WHEN $6::text IS NOT NULL THEN now() END)
     ON CONFLICT (app_id) DO UPDATE SET issuer = excluded.issuer, audience = excluded.audience,
       user_claim = excluded.user_claim, public_key = excluded.public_key, jwks_url = excluded.jwks_url,
       key_set = excluded.key_set, asked_at = excluded.asked_at, read_at = excluded.read_at, updated_at = now()`,
      [
        appId,
        settings.issuer,
        settings.audience,
        settings.userClaim,
        settings.publicKey ?? null,
        settings.jwksUrl ?? null,
        keySet === undefined ? null : JSON.stringify(keySet),
      ],
    )
    const detail = {
      issuer: settings.issuer,
      audience: settings.audience,
      user_claim: settings.userClaim,
      jwks_url: settings.jwksUrl ?? null,
    }
    if (by) await addAudit(runner, { appId, by, action: 'identity.save', detail })
  })
}

export async function removeIdentity(db: Database, appId: string, by?: By): Promise<boolean> {
  return inTransaction(db, async (runner) => {
    const { rowCount } = await runner.query('DELETE FROM identity WHERE app_id = $1', [appId])
    if (rowCount === 1 && by) await addAudit(runner, { appId, by, action: 'identity.remove' })
    return rowCount === 1
  })
}

/** Returns whether the caller shall read the keys now: one process at a time, and not before `floorSeconds` have passed. */
export async function claimKeyRead(
  db: Database,
  appId: string,
  jwksUrl: string,
  floorSeconds: number,
): Promise<boolean> {
  const { rowCount } = await db.pool.query(
    `UPDATE identity SET asked_at = clock_timestamp() WHERE app_id = $1 AND jwks_url = $2
       AND (asked_at IS NULL OR asked_at <= clock_timestamp() - make_interval(secs => $3))`,
    [appId, jwksUrl, floorSeconds],
  )
  return rowCount === 1
}

/** Ends a claimed read. Without `keySet`, which means that the read failed, the former keys stay, and so does their age. */
export async function endKeyRead(
  db: Database,
  appId: string,
  jwksUrl: string,
  keySet: StoredKey[] | undefined,
): Promise<void> {
  await db.pool.query(
    `UPDATE identity SET key_set = coalesce($3::jsonb, key_set), updated_at = clock_timestamp(),
       read_at = CASE WHEN $3::jsonb IS NULL THEN read_at ELSE clock_timestamp() END
     WHERE app_id = $1 AND jwks_url = $2`,
    [appId, jwksUrl, keySet === undefined ? null : JSON.stringify(keySet)],
  )
}
