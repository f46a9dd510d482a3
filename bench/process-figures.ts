import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts CPU time in hundredths of a second. */
const TICKS_PER_SECOND = 100

type Stat = { parent: number; seconds: number }

/** Parent and CPU time of a process, with its children that have ended and were waited for. */
export function statOf(pid: number | string): Stat | undefined {
  try {
    // The name in parentheses may contain spaces and parentheses.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return { parent: Number(fields[1]), seconds: ticks / TICKS_PER_SECOND }
  } catch {
    return undefined
  }
}

/** CPU time of a process and its children. Postgres has one process per connection. */
export function cpuSecondsWithChildren(pid: number): number {
  let sum = statOf(pid)?.seconds ?? 0
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const stat = statOf(entry)
    if (stat?.parent === pid) sum += stat.seconds
  }
  return sum
}

/** Resident memory of a process; undefined if it has ended. */
export function residentMb(pid: number): number | undefined {
  try {
    const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
    return found ? Number(found[1]) / 1024 : undefined
  } catch {
    return undefined
  }
}
