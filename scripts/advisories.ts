export type Advisory = { id: string; package: string; severity: string; title: string }

type Via = { name: string; severity: string; title: string; url: string }
type Report = { vulnerabilities?: Record<string, { via: (Via | string)[] }> }

/** Reads the output of `npm audit --json`; undefined if the registry has no advisories or was not reached. */
export function readAdvisories(output: string): Advisory[] | undefined {
  let report: Report
  try {
    report = JSON.parse(output)
  } catch {
    return undefined
  }
  if (!report.vulnerabilities) return undefined
  const found = new Map<string, Advisory>()
  for (const { via } of Object.values(report.vulnerabilities)) {
    for (const one of via) {
      // A text is the name of another package, which has its own entry.
      if (typeof one === 'string') continue
      const id = one.url.slice(one.url.lastIndexOf('/') + 1)
      found.set(id, { id, package: one.name, severity: one.severity, title: one.title })
    }
  }
  return [...found.values()]
}

/** The advisories that must be fixed, or judged and accepted. */
export function unacceptable(advisories: Advisory[], accepted: readonly string[]): Advisory[] {
  return advisories.filter(
    ({ id, severity }) => ['high', 'critical'].includes(severity) && !accepted.includes(id),
  )
}
