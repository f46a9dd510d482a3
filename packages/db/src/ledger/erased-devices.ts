import type { Runner } from '../store/statement.ts'

/** Keeps the numbers of devices whose receipts are about to be deleted: from then on no receipt of them is counted. */
export async function rememberErased(runner: Runner, deviceIds: readonly number[]): Promise<void> {
  if (deviceIds.length === 0) return
  // Sorted: two calls that insert the same numbers in different orders deadlock.
  await runner.query(
    `INSERT INTO erased_device (device_id) SELECT DISTINCT id FROM unnest($1::bigint[]) AS d (id) ORDER BY id
     ON CONFLICT (device_id) DO NOTHING`,
    [deviceIds],
  )
}

export const isErasedSql = (deviceId: string) =>
  `EXISTS (SELECT 1 FROM erased_device e WHERE e.device_id = ${deviceId})`
