import type { Database } from './database.ts'
import type { Sealer } from './seal.ts'
import { run } from './statement.ts'

/** Returns a key that all processes share. The first process that asks creates it. */
export async function sharedKey(
  db: Database,
  sealer: Sealer,
  name: string,
  make: () => string,
): Promise<string> {
  const boundTo = boundToName(name)
  const read = async () => {
    const sql = 'SELECT sealed FROM instance_key WHERE name = $1'
    const [row] = await run<[Buffer]>(db.pool, 'instance-key', sql, [name])
    return row && sealer.open(row[0], boundTo)
  }
  const known = await read()
  if (known !== undefined) return known
  await db.pool.query('INSERT INTO instance_key (name, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    name,
    sealer.seal(make(), boundTo),
  ])
  return (await read())!
}

const boundToName = (name: string) => `instance-key/${name}`

/** Throws SealBroken if the shared keys were sealed with a master key that this process does not have: it could read no credentials either. */
export async function checkMasterKey(db: Database, sealer: Sealer): Promise<void> {
  const rows = await run<[name: string, sealed: Buffer]>(
    db.pool,
    'instance-keys',
    'SELECT name, sealed FROM instance_key',
    [],
  )
  for (const [name, sealed] of rows) sealer.open(sealed, boundToName(name))
}
