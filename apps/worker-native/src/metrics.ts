import { Counter, Gauge, type Registry } from '@herald/telemetry'

/** A supervisor may start the gateway again inside the process, so old metrics make room. */
export function createMetrics(registry: Registry, connections: () => number) {
  const names = {
    connections: 'herald_native_connections',
    written: 'herald_native_written_total',
    acknowledged: 'herald_native_acknowledged_total',
    closed: 'herald_native_closed_total',
  }
  for (const name of Object.values(names)) registry.removeSingleMetric(name)
  new Gauge({
    name: names.connections,
    help: 'Open connections of devices.',
    registers: [registry],
    collect() {
      this.set(connections())
    },
  })
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const written = counter(names.written, 'Messages written to connections, repetitions included.')
  const acknowledged = counter(names.acknowledged, 'Acknowledgements of devices, repetitions included.')
  const closed = counter(names.closed, 'Connections that the gateway ended, by close code.', ['code'])
  return {
    written: () => written.inc(),
    acknowledged: (count: number) => acknowledged.inc(count),
    closed: (code: number) => closed.inc({ code }),
  }
}
