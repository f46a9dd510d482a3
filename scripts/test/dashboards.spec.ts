import { counters, gauges, histograms, metricNames } from '@herald/telemetry'
import { describe, expect, it } from '@jest/globals'
import { alertsTable, figures, fillSection, metricsTable } from '../generated-sections.ts'
import { type Loose, parseYaml, programs, read } from './deployed-programs.ts'

const dashboard = JSON.parse(read('deploy/grafana/herald.json'))
const panels: Loose[] = dashboard.panels
const [group] = parseYaml('deploy/prometheus/alerts.yml').groups
const rules: Loose[] = group.rules
const expressions = [
  ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }: { expr: string }) => expr)),
  ...rules.map(({ expr }) => expr),
]

/** Metrics of prom-client, Prometheus and the node exporter. */
const foreign = [
  'up',
  'nodejs_eventloop_lag_p99_seconds',
  'process_resident_memory_bytes',
  'process_cpu_seconds_total',
  'node_filesystem_avail_bytes',
  'node_filesystem_size_bytes',
]
const declared: Record<string, { labels: readonly string[] }> = { ...counters, ...gauges, ...histograms }
const nameOf = (series: string) => (series in declared ? series : series.replace(/_(bucket|count|sum)$/, ''))
/** The series of an expression, with the labels in their braces. */
const seriesIn = (expression: string) =>
  [...expression.matchAll(/\b((?:herald|nodejs|process|node)_\w+|up\b)(?:\{([^}]*)\})?/g)].map(
    ([, name, braces = '']) => ({
      name: nameOf(name!),
      raw: name!,
      labels: [...braces.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map((match) => match[1]!),
    }),
  )

describe('dashboard and alerts', () => {
  it.each(expressions)('use existing metrics and labels: %s', (expression) => {
    const found = seriesIn(expression)
    expect(found.length).toBeGreaterThan(0)
    for (const { name, raw, labels } of found) {
      if (foreign.includes(name)) continue
      expect(metricNames).toContain(name)
      // A histogram has no series with its own name.
      expect(name in histograms).toBe(raw !== name)
      for (const label of labels)
        expect([...declared[name]!.labels, 'program', 'job', 'instance', 'service']).toContain(label)
    }
    const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap((match) => match[1]!.split(/,\s*/))
    const available = found.flatMap(({ name }) => declared[name]?.labels ?? [])
    for (const label of grouped)
      expect([...available, 'le', 'program', 'job', 'instance', 'service', 'mountpoint']).toContain(label)
    expect(expression.split('(').length).toBe(expression.split(')').length)
  })

  it('show every metric', () => {
    const shown = new Set(
      panels.flatMap(({ targets = [] }) =>
        targets.flatMap(({ expr }: Loose) => seriesIn(expr).map(({ name }) => name)),
      ),
    )
    expect(metricNames.filter((name) => !shown.has(name))).toEqual([])
  })
})

describe('deploy/grafana/herald.json', () => {
  it('has a fixed uid, a data source variable, and panels that do not overlap', () => {
    expect(dashboard.uid).toBe('herald')
    expect(dashboard.templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource' })
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const taken = new Set<string>()
    for (const { gridPos, title, type, datasource } of panels) {
      expect(title).toBeTruthy()
      if (type !== 'row') expect(datasource.uid).toMatch(/^\$\{datasource\}$/)
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x} ${y}`)).toBe(false)
          taken.add(`${x} ${y}`)
        }
    }
  })
})

describe('deploy/prometheus', () => {
  it('has alerts with duration, severity, summary and runbook', () => {
    const anchors = new Set(
      [...read('docs/operations.md').matchAll(/<a id="([\w-]+)">/g)].map((match) => match[1]),
    )
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
    for (const { alert, for: lasting, labels, annotations } of rules) {
      expect(alert).toMatch(/^Herald[A-Z]\w+$/)
      expect(lasting).toMatch(/^\d+[smh]$/)
      expect(['warning', 'critical']).toContain(labels.severity)
      expect(annotations.summary).toMatch(/\.$/)
      const [file, anchor] = annotations.runbook_url.split('#')
      expect(file).toBe('docs/operations.md')
      expect(anchors).toContain(anchor)
    }
    for (const anchor of anchors)
      if (anchor?.startsWith('incident-'))
        expect(rules.some(({ annotations }) => annotations.runbook_url.endsWith(`#${anchor}`))).toBe(true)
  })

  it('scrapes every program of docker-compose.yml', () => {
    const [{ dns_sd_configs, job_name }] = parseYaml('deploy/prometheus/prometheus.yml').scrape_configs
    expect(job_name).toBe('herald')
    expect(dns_sd_configs[0].names.toSorted()).toEqual(programs)
    expect(dns_sd_configs[0].port).toBe(7110)
  })
})

describe('generated sections of docs/', () => {
  it('are up to date; `node scripts/write-generated-sections.ts` writes them', () => {
    const page = read('docs/observability.md')
    expect(
      fillSection(fillSection(page, 'metrics', metricsTable()), 'alerts', alertsTable(rules as never)),
    ).toBe(page)
    expect(fillSection(read('docs/benchmarks.md'), 'figures', 'x')).toContain('-->\nx\n<!-- /figures -->')
  })

  it('show a benchmark run', () => {
    const text = figures({
      machine: '2 × Core, 8 GiB, Node v24.0.0',
      date: '2026-11-01T00:00:00.000Z',
      commit: 'abc1234',
      quick: false,
      metrics: {
        notify_accept_per_s: { value: 12345.6, unit: 'requests/s', note: '64 callers | keep-alive' },
      },
    })
    expect(text).toContain('| notify accept per s | 12,345.6 requests/s | 64 callers \\| keep-alive |')
    expect(text).toMatch(/^A run on 2 × Core, .*, 2026-11-01, commit abc1234:\n/)
    expect(figures(undefined)).toBe('No run is recorded yet.')
    expect(() => fillSection('nothing', 'figures', 'x')).toThrow('There is no section figures')
  })
})
