import { ownReasonNames } from '@herald/domain'
import { counters, gauges, histograms } from '@herald/telemetry'
import { en } from '../apps/console/src/i18n/en.ts'
import { zh } from '../apps/console/src/i18n/zh.ts'

/** Of the documents. */
export type Language = 'en' | 'zh'

/** Replaces the text between `<!-- name: … -->` and `<!-- /name -->`; the first comment names the script that writes it. */
export function fillSection(document: string, name: string, content: string): string {
  const section = new RegExp(`(<!-- ${name}: [^\\n]*-->\\n)[^]*?(<!-- /${name} -->)`)
  if (!section.test(document)) throw new Error(`There is no section ${name} to fill.`)
  return document.replace(section, (_, begin, end) => `${begin}${content.trim()}\n${end}`)
}

export const table = (head: string[], rows: string[][]) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

export function metricsTable(): string {
  const rows = Object.entries({ ...counters, ...gauges, ...histograms }).map(([name, { help, labels }]) => [
    `\`${name}\``,
    labels.join(', '),
    help.replaceAll('|', '\\|'),
  ])
  return table(['metric', 'labels', 'meaning'], rows)
}

/** Herald's own reasons, described as in the console. */
export function reasonsTable(language: Language): string {
  const { head, texts } = {
    en: { head: ['code', 'meaning'], texts: en.reasonCode },
    zh: { head: ['代码', '含义'], texts: zh.reasonCode },
  }[language]
  return table(
    head,
    ownReasonNames.map((name) => [`\`herald.${name}\``, texts[name]]),
  )
}

type Rule = { alert: string; for: string; labels: { severity: string }; annotations: { runbook_url: string } }

export function alertsTable(rules: readonly Rule[]): string {
  return table(
    ['alert', 'after', 'severity', 'what to do'],
    rules.map(({ alert, for: lasting, labels, annotations }) => {
      const anchor = annotations.runbook_url.split('#')[1]!
      return [
        alert,
        lasting,
        labels.severity,
        `[${anchor.replace('incident-', '').replaceAll('-', ' ')}](operations.md#${anchor})`,
      ]
    }),
  )
}

export type BenchReport = {
  machine: string
  date: string
  commit: string
  quick: boolean
  /** The run of `--loaded`, which found the ratios. */
  loaded?: { machine: string; date: string; commit: string; quick: boolean }
  metrics: Record<string, { value: number; unit: string; note: string }>
}

/** Undefined = no run has been recorded. */
export function figures(report: BenchReport | undefined): string {
  if (!report) return 'No run is recorded yet.'
  const rows = Object.entries(report.metrics).map(([name, { value, unit, note }]) => [
    name.replaceAll('_', ' '),
    `${value.toLocaleString('en-US')} ${unit}`,
    note.replaceAll('|', '\\|'),
  ])
  const run = `${report.quick ? 'A quick run' : 'A run'} on ${report.machine}, ${report.date.slice(0, 10)}, commit ${report.commit}:`
  return `${run}\n\n${table(['figure', 'value', 'how measured'], rows)}${loadedRun(report)}`
}

function loadedRun({ loaded }: BenchReport): string {
  if (!loaded) return ''
  const { machine, date, commit, quick } = loaded
  return `\n\nThe loaded ratios are of ${quick ? 'a quick run' : 'a run'} on ${machine}, ${date.slice(0, 10)}, commit ${commit}.`
}
