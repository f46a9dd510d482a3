import type { Inspection } from '@herald/settings'
import type { Finding } from './finding.ts'

/** Pure, like all judge functions: facts in, findings out. */
export function judgeSettings({ problems, warnings }: Inspection): Finding[] {
  const findings: Finding[] = [
    ...problems.map(
      (what): Finding => ({
        area: 'settings',
        state: 'fail',
        what,
        advice: 'fix the variable; no program starts with it',
      }),
    ),
    ...warnings.map(
      (what): Finding => ({ area: 'settings', state: 'warn', what, advice: 'check the spelling' }),
    ),
  ]
  if (problems.length === 0) findings.push({ area: 'settings', state: 'ok', what: 'all settings are valid' })
  return findings
}
