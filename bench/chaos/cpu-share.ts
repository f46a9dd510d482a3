import { readdirSync, readFileSync } from 'node:fs'

/** Ticks of CPU time since the machine started: of all cores, those used by anyone, and those used by this process and its descendants. */
export type CpuTicks = { all: number; used: number; ours: number }

/** Undefined on systems without /proc. */
export function readCpuTicks(): CpuTicks | undefined {
  try {
    const [, ...fields] = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.trim().split(/\s+/)
    // The last two are part of the first two.
    const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, ...more] = fields.slice(0, 8).map(Number)
    const used = user + nice + system + more.reduce((sum, ticks) => sum + ticks, 0)
    return { all: used + idle + wait, used, ours: ticksOfTree(process.pid, readProcesses()) }
  } catch {
    return undefined
  }
}

/** Share of the machine's CPU time that others used between two readings. */
export function shareOfOthers(before: CpuTicks, after: CpuTicks): number {
  const used = after.used - before.used - (after.ours - before.ours)
  return Math.max(0, used / Math.max(1, after.all - before.all))
}

type ProcessTicks = { pid: number; parent: number; ticks: number }

function readProcesses(): ProcessTicks[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [parseStat(readFileSync(`/proc/${name}/stat`, 'utf8'))]
      } catch {
        // It has ended.
        return []
      }
    })
}

/** Own time and that of children that have ended. */
export function parseStat(text: string): ProcessTicks {
  // The name, in parentheses, may contain spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [user, system, userOfEnded, systemOfEnded] = fields.slice(11, 15).map(Number) as [
    number,
    number,
    number,
    number,
  ]
  return {
    pid: Number.parseInt(text, 10),
    parent: Number(fields[1]),
    ticks: user + system + userOfEnded + systemOfEnded,
  }
}

export function ticksOfTree(root: number, processes: readonly ProcessTicks[]): number {
  const children = Map.groupBy(processes, ({ parent }) => parent)
  const sum = (pid: number): number =>
    (children.get(pid) ?? []).reduce((all, one) => all + one.ticks + sum(one.pid), 0)
  return sum(root) + (processes.find(({ pid }) => pid === root)?.ticks ?? 0)
}
