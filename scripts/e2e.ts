import { runSpecs } from './run-specs.ts'

// Arguments select files (`npm run e2e -- apps/console`).
const { passed, failed, exitCode } = await runSpecs('e2e', process.argv.slice(2))
console.error(`${passed} passed, ${failed} failed`)
process.exitCode = exitCode
