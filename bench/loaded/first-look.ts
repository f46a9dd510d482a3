import { openDatabase } from '@herald/db/store'
import { findDueWork } from '@herald/db/tasks'
import { type Metrics, rounded } from '../metric.ts'
import type { GivenDatabase } from '../pipeline/deployment.ts'
import { cpuSecondsWithChildren, statOf } from '../process-figures.ts'

/** CPU time is counted in hundredths of a second. */
const LOOKS = 5

/**
 * What Postgres spends on the first check for due work of a process, which has to know the days with open work before: if no process
 * has looked at all days yet, and if one has.
 */
export async function measureFirstLook({ url }: GivenDatabase): Promise<Metrics> {
  const looks = { first: 0, next: 0 }
  for (let look = 0; look < LOOKS; look++) {
    looks.first += await cpuOfStart(url, 'DELETE FROM open_days')
    looks.next += await cpuOfStart(url)
  }
  const figure = (seconds: number) => ({
    value: rounded((seconds / LOOKS) * 1000),
    unit: 'ms per start',
    note: `of Postgres, mean of ${LOOKS} looks`,
  })
  return { first_look_cpu_ms: figure(looks.first), next_look_cpu_ms: figure(looks.next) }
}

async function cpuOfStart(url: string, prepare = 'SELECT 1'): Promise<number> {
  const db = openDatabase(url, { max: 4, name: 'bench' })
  try {
    await db.pool.query(prepare)
    const { rows } = await db.pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const postmaster = statOf(rows[0]!.pid)!.parent
    const before = cpuSecondsWithChildren(postmaster)
    await findDueWork(db)
    return cpuSecondsWithChildren(postmaster) - before
  } finally {
    await db.close()
  }
}
