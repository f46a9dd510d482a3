import { count } from '../words.ts'
import type { Finding } from './finding.ts'

const FEW_FILES = 4096

/** Open files that this user's programs may have. Node has already raised its own limit as far as it may. */
export function openFilesLimit(): number | undefined {
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean }
  // Looking up the names of network peers could take seconds.
  report.excludeNetwork = true
  const limits = report.getReport() as { userLimits?: { open_files?: { soft: number | string } } }
  const soft = limits.userLimits?.open_files?.soft
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : typeof soft === 'number' ? soft : undefined
}

export function judgeOpenFiles(limit: number | undefined): Finding[] {
  if (limit === undefined) return []
  if (limit >= FEW_FILES)
    return [
      {
        area: 'machine',
        state: 'ok',
        what: `a program may have ${Number.isFinite(limit) ? count(limit) : 'any number of'} open files, one for each native device`,
      },
    ]
  return [
    {
      area: 'machine',
      state: 'warn',
      what: `a program may have ${count(limit)} open files, and a gateway needs one for each native device`,
      advice: 'raise the limit (ulimit -n, LimitNOFILE) above the devices you expect',
    },
  ]
}
