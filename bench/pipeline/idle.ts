import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '@herald/async'
import { freePort, startApp } from '@herald/testkit'
import { type Metrics, rounded } from '../metric.ts'
import { cpuSecondsWithChildren, statOf } from '../process-figures.ts'

/**
 * Programs look less often after half a minute without work. Within two minutes every connection has planned the statements that are repeated
 * once per minute; before, the figure would be that of a start.
 */
export const SETTLE_MS = 150_000

/** CPU time of an idle standalone with its Postgres. */
export async function measureIdle(seconds: number): Promise<Metrics> {
  const dir = mkdtempSync(join(tmpdir(), 'herald-idle-'))
  const port = await freePort()
  const standalone = startApp('apps/standalone/src/main.ts', {
    HERALD_PORT: String(port),
    HERALD_DATA_DIR: dir,
  })
  try {
    await standalone.prints(/is ready at/, 120)
    const pidFile = join(dir, 'postgres', 'data', 'postmaster.pid')
    const postgres = Number(readFileSync(pidFile, 'utf8').split('\n')[0])
    await sleep(SETTLE_MS)
    const spent = () => statOf(standalone.pid)!.seconds + cpuSecondsWithChildren(postgres)
    const before = spent()
    await sleep(seconds * 1000)
    const used = spent() - before
    return {
      idle_cpu_percent: {
        value: rounded((used / seconds) * 100),
        unit: '% of one core',
        note: `standalone with its Postgres over ${seconds} s`,
      },
    }
  } finally {
    await standalone.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}
