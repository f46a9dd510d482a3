import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts processor time in hundredths of a second. */
const TICKS_PER_SECOND = 100

type Stat = { parent: number; seconds: number }

/** What Linux knows of a process; its ended and awaited children count with it. */
export function statOf(pid: number | string): Stat | undefined {
  try {
    // The name in brackets may hold anything, spaces and brackets included.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return { parent: Number(fields[1]), seconds: ticks / TICKS_PER_SECOND }
  } catch {
    return undefined
  }
}

/** Processor time of a process and all its children: of Postgres, whose connections are processes. */
export function familySeconds(pid: number): number {
  let sum = statOf(pid)?.seconds ?? 0
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const stat = statOf(entry)
    if (stat?.parent === pid) sum += stat.seconds
  }
  return sum
}

/** Resident memory of a process, or undefined when it is gone. */
export function residentMb(pid: number): number | undefined {
  try {
    const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
    return found ? Number(found[1]) / 1024 : undefined
  } catch {
    return undefined
  }
}
