import { runChecks } from './check.ts'
import { runSpecs } from './run-specs.ts'

// Arguments select specs (`npm test -- packages/db`); the checks of the whole tree are skipped then. They run next to the first specs, which
// often wait.
const selection = process.argv.slice(2)
const checking = selection.length > 0 ? 0 : runChecks(['check:types', 'check:lint', 'check:fences'])
const specs = await runSpecs('spec', selection)
const checks = await checking
if (checks !== 0) console.error('type check, lint or fences failed; see their output among the first specs')
console.error(`${specs.passed} passed, ${specs.failed} failed`)
process.exitCode = checks || specs.exitCode
