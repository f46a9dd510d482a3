import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, startApp } from '@herald/testkit'
import { type Metrics, rounded } from '../metric.ts'
import { familySeconds, statOf } from '../process-figures.ts'

/** CPU of the whole standalone, its Postgres included, while nothing happens. */
export async function measureIdle(seconds: number): Promise<Metrics> {
  const dir = mkdtempSync(join(tmpdir(), 'herald-idle-'))
  const port = await freePort()
  const standalone = startApp('apps/standalone/src/main.ts', {
    HERALD_PORT: String(port),
    HERALD_DATA_DIR: dir,
  })
  try {
    await standalone.prints(/is ready at/, 120)
    const postgres = Number(readFileSync(findPidFile(dir), 'utf8').split('\n')[0])
    await sleep(15_000)
    const spent = () => statOf(standalone.pid)!.seconds + familySeconds(postgres)
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

function findPidFile(dir: string): string {
  return join(dir, 'postgres', 'data', 'postmaster.pid')
}
