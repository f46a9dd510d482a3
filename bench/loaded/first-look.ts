import { openDatabase } from '@herald/db/store'
import { findDueWork } from '@herald/db/tasks'
import { type Metrics, rounded } from '../metric.ts'
import type { GivenDatabase } from '../pipeline/deployment.ts'
import { cpuSecondsWithChildren, statOf } from '../process-figures.ts'

/** CPU time is counted in hundredths of a second. */
const LOOKS = 5

/**
 * What Postgres spends on the first check for due work of a process. It looks for the days with open work before, and asks every day that is
 * kept, once per start. The other figures begin after it.
 */
export async function measureFirstLook({ url }: GivenDatabase): Promise<Metrics> {
  let seconds = 0
  for (let look = 0; look < LOOKS; look++) {
    const db = openDatabase(url, { max: 4, name: 'bench' })
    try {
      const { rows } = await db.pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      const postmaster = statOf(rows[0]!.pid)!.parent
      const before = cpuSecondsWithChildren(postmaster)
      await findDueWork(db)
      seconds += cpuSecondsWithChildren(postmaster) - before
    } finally {
      await db.close()
    }
  }
  return {
    first_look_cpu_ms: {
      value: rounded((seconds / LOOKS) * 1000),
      unit: 'ms per start',
      note: `of Postgres, mean of ${LOOKS} looks`,
    },
  }
}
