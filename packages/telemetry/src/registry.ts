import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { counters, gauges, histograms } from './catalogue.ts'

export type { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** The metrics of one program: memory, event loop and garbage collection of the process, and what the program adds. */
export function createRegistry(program: string): Registry {
  const registry = new Registry()
  registry.setDefaultLabels({ program })
  // The usual 10 ms is a third of what an idle process costs.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 50 })
  return registry
}

/** Several parts of one process share the registry, so a metric that is there already is used again. */
export function counter(registry: Registry, name: keyof typeof counters): Counter {
  const { help, labels } = counters[name]
  return (
    (registry.getSingleMetric(name) as Counter | undefined) ??
    new Counter({ name, help, labelNames: labels, registers: [registry] })
  )
}

export function histogram(registry: Registry, name: keyof typeof histograms): Histogram {
  const { help, labels, buckets } = histograms[name]
  return (
    (registry.getSingleMetric(name) as Histogram | undefined) ??
    new Histogram({ name, help, labelNames: labels, buckets: [...buckets], registers: [registry] })
  )
}

/** A gauge shows the present of its owner: a part that is started again takes it over from its former life. */
export function gauge(
  registry: Registry,
  name: keyof typeof gauges,
  collect?: (gauge: Gauge) => void,
): Gauge {
  registry.removeSingleMetric(name)
  const { help, labels } = gauges[name]
  return new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    ...(collect && {
      collect() {
        collect(this)
      },
    }),
  })
}
