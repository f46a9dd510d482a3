import { count } from '../format.ts'
import type { Finding } from './finding.ts'

const MIN_FILES = 4096

/** The open file limit of this user's programs. Node has already raised its own limit to the maximum. */
export function openFilesLimit(): number | undefined {
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean }
  // Resolving the names of network peers could take seconds.
  report.excludeNetwork = true
  const limits = report.getReport() as { userLimits?: { open_files?: { soft: number | string } } }
  const soft = limits.userLimits?.open_files?.soft
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : typeof soft === 'number' ? soft : undefined
}

export function judgeOpenFiles(limit: number | undefined): Finding[] {
  if (limit === undefined) return []
  if (limit >= MIN_FILES)
    return [
      {
        area: 'machine',
        state: 'ok',
        what: `open file limit: ${Number.isFinite(limit) ? count(limit) : 'unlimited'} (a gateway needs one per native device)`,
      },
    ]
  return [
    {
      area: 'machine',
      state: 'warn',
      what: `open file limit: ${count(limit)} (a gateway needs one per native device)`,
      advice: 'raise the limit (ulimit -n, LimitNOFILE) above the expected number of devices',
    },
  ]
}
