import { randomUUID } from 'node:crypto'
import type { Database } from './database.ts'
import { run } from './statement.ts'

/** Work that one process does for all. Ends by itself when its process does not renew it, because it was lost or hangs. */
export type Lead = {
  /** Takes or renews it for `seconds`. Returns false if another process has it. */
  take(seconds: number): Promise<boolean>
  /** Leaves it to other processes. */
  release(): Promise<void>
}

export function leadOf(db: Database, work: string): Lead {
  const owner = randomUUID()
  return {
    async take(seconds) {
      const rows = await run<[string]>(
        db.pool,
        'take-lead',
        `INSERT INTO lead (work, owner, until) VALUES ($1, $2, now() + make_interval(secs => $3))
         ON CONFLICT (work) DO UPDATE SET owner = excluded.owner, until = excluded.until
         WHERE lead.owner = excluded.owner OR lead.until <= now()
         RETURNING work`,
        [work, owner, seconds],
      )
      return rows.length > 0
    },
    async release() {
      await run(db.pool, 'release-lead', 'DELETE FROM lead WHERE work = $1 AND owner = $2', [work, owner])
    },
  }
}
