import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, startApp } from '@herald/testkit'
import { type Metrics, rounded } from '../metric.ts'

const TICKS_PER_SECOND = 100

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
    const before = cpuSeconds(standalone.pid) + familySeconds(postgres)
    await sleep(seconds * 1000)
    const used = cpuSeconds(standalone.pid) + familySeconds(postgres) - before
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

/** User and system time of a process so far. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Postgres counts its backends' time as its own once they end; living ones are found by their parent. */
function familySeconds(postmaster: number): number {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number)
  const fields = readFileSync(`/proc/${postmaster}/stat`, 'utf8').split(') ')[1]!.split(' ')
  const ended = (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND
  return children.reduce((sum, pid) => {
    try {
      return sum + cpuSeconds(pid)
    } catch {
      return sum
    }
  }, cpuSeconds(postmaster) + ended)
}
