// Writes the sections of docs/ that are generated from code and measurements:
//   node scripts/write-generated-sections.ts
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { alertsTable, figures, fillSection, metricsTable } from './generated-sections.ts'
import { vendorSections } from './vendor-sections.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

function rewrite(path: string, sections: Record<string, string>): void {
  let document = read(path)
  for (const [name, content] of Object.entries(sections)) document = fillSection(document, name, content)
  writeFileSync(join(root, path), document)
}

rewrite('docs/observability.md', {
  metrics: metricsTable(),
  alerts: alertsTable(parse(read('deploy/prometheus/alerts.yml')).groups[0].rules),
})
rewrite('docs/benchmarks.md', {
  figures: figures(
    existsSync(join(root, 'bench/latest.json')) ? JSON.parse(read('bench/latest.json')) : undefined,
  ),
})
for (const [path, sections] of Object.entries(vendorSections)) rewrite(path, sections)
