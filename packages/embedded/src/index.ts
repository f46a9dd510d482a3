export { type Postgres, type PostgresOptions, startPostgres, stopLeftBehind } from './postgres.ts'
export { processStart } from './processes.ts'
