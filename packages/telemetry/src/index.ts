export { counters, gauges, histograms, metricNames } from './catalogue.ts'
export { type HealthDeps, type HealthServer, handleHealth, startHealthServer } from './health-server.ts'
export { createLogger, type Logger, type LoggerOptions } from './logger.ts'
export {
  type Counter,
  counter,
  createRegistry,
  type Gauge,
  gauge,
  type Histogram,
  histogram,
  type Registry,
} from './registry.ts'
export { requestIdOf } from './request-id.ts'
