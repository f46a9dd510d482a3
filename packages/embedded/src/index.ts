export { type Postgres, type PostgresOptions, startPostgres } from './postgres.ts'
export { processStart } from './processes.ts'
