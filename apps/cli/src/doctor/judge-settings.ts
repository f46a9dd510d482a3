import type { Inspection } from '@herald/settings'
import type { Finding } from './finding.ts'

/** Pure, as every judge: facts in, findings out. */
export function judgeSettings({ problems, warnings }: Inspection): Finding[] {
  const findings: Finding[] = [
    ...problems.map(
      (what): Finding => ({
        area: 'settings',
        state: 'fail',
        what,
        advice: 'mend the variable; every program refuses to start with it',
      }),
    ),
    ...warnings.map(
      (what): Finding => ({ area: 'settings', state: 'warn', what, advice: 'look for a typing error' }),
    ),
  ]
  if (problems.length === 0)
    findings.push({ area: 'settings', state: 'ok', what: 'every setting can be read' })
  return findings
}
