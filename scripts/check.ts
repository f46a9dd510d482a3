import { runChecks } from './run-checks.ts'

process.exitCode = runChecks(process.argv.slice(2))
