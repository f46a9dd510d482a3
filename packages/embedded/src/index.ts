export {
  findRunning,
  type Postgres,
  type PostgresOptions,
  startPostgres,
  stopLeftBehind,
} from './postgres.ts'
export { type ProcessLock, processStart, takeLock } from './process-lock.mjs'
export { PostgresProblem } from './server-user.ts'
