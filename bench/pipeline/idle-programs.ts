import { sleep } from '@herald/async'
import { cpuNote, cpuPerItem, type Metrics, rounded, totalCpuPerItem } from '../metric.ts'
import { countWal } from '../wal.ts'
import { type GivenDatabase, startDeployment } from './deployment.ts'
import { SETTLE_MS } from './idle.ts'

/** What separate programs spend while nothing is accepted and nothing is due. */
export async function measureIdlePrograms(seconds: number, database?: GivenDatabase): Promise<Metrics> {
  const herald = await startDeployment({ queue: 'redis', workers: ['worker-apns', 'courier'], database })
  try {
    await sleep(SETTLE_MS)
    const endWal = await countWal(herald.db)
    const before = herald.cpuTime()
    await sleep(seconds * 1000)
    const after = herald.cpuTime()
    const wal = await endWal(seconds, `per second, over ${seconds} s`)
    // Ten milliseconds of CPU time per second are one percent of a core.
    const percent = totalCpuPerItem(before, after, seconds) / 10_000
    return {
      idle_programs_cpu_percent: {
        value: rounded(percent),
        unit: '% of one core',
        note: `${cpuNote}, over ${seconds} s without work; ${cpuPerItem(before, after, seconds)}, where an item is a second`,
      },
      idle_programs_wal_bytes_per_s: { ...wal, unit: 'bytes/s' },
    }
  } finally {
    await herald.stop()
  }
}
