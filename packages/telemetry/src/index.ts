export { answerHealth, type HealthDeps, type HealthServer, startHealthServer } from './health-server.ts'
export { createLogger, type Logger, type LoggerOptions } from './logger.ts'
export { Counter, createRegistry, Gauge, Histogram, type Registry } from './registry.ts'
