import type { Database } from './database.ts'
import type { Sealer } from './seal.ts'

/** Returns a key that all processes share. The first process that asks creates it. */
export async function sharedKey(
  db: Database,
  sealer: Sealer,
  name: string,
  make: () => string,
): Promise<string> {
  const boundTo = `instance-key/${name}`
  const read = async () => {
    const row = await db.prisma.instanceKey.findUnique({ where: { name } })
    return row ? sealer.open(row.sealed, boundTo) : undefined
  }
  const known = await read()
  if (known !== undefined) return known
  await db.prisma.instanceKey.createMany({
    data: { name, sealed: sealer.seal(make(), boundTo) },
    skipDuplicates: true,
  })
  return (await read())!
}
