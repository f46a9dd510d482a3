import { runHerald } from './run-herald.ts'

process.exitCode = await runHerald(process.argv.slice(2))
