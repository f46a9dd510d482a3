import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { counters, gauges, histograms } from './catalogue.ts'

export type { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** The registry of a program, with metrics of memory, event loop and garbage collection. */
export function createRegistry(program: string): Registry {
  const registry = new Registry()
  registry.setDefaultLabels({ program })
  // The default of 10 ms wakes an idle process a hundred times per second. The lag that is shown includes the precision.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 })
  return registry
}

/** Parts of one process share the registry, so an existing metric is reused. */
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

/** Replaces an existing gauge: a restarted part must not read the state of its previous run. */
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
