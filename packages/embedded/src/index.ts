export {
  findRunning,
  type Postgres,
  type PostgresOptions,
  startPostgres,
  stopLeftBehind,
} from './postgres.ts'
export { PostgresProblem } from './postgres-problem.ts'
export { processStart } from './processes.ts'
