import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { counters, gauges, histograms } from './catalogue.ts'

export type { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** Precision of the event loop's lag, which is included in the values. The default of 10 ms wakes an idle process 100 times per second. */
const LAG_MS = 100

/**
 * Adds the metrics of memory, event loop and garbage collection at the first scrape: sampling the event loop is most of what an idle
 * standalone does, and nobody may ever read it.
 */
class ScrapedRegistry extends Registry {
  private hasDefaults: Promise<void> | undefined

  override async metrics(): Promise<string> {
    this.hasDefaults ??= this.addDefaults()
    await this.hasDefaults
    return super.metrics()
  }

  private async addDefaults(): Promise<void> {
    collectDefaultMetrics({ register: this, eventLoopMonitoringPrecision: LAG_MS })
    // Until the second sample, the lag has no value.
    await sleep(2.5 * LAG_MS)
  }
}

/** The registry of a program. */
export function createRegistry(program: string): Registry {
  const registry = new ScrapedRegistry()
  registry.setDefaultLabels({ program })
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
