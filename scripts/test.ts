import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, runChecks } from './run-checks.ts'

// Arguments select specs (`npm test -- packages/db`); the checks of the whole tree then have nothing to say.
const selection = process.argv.slice(2)
const checks = selection.length > 0 ? 0 : runChecks(['check:types', 'check:lint', 'check:fences'])
const specs = runSpecs(selection)
if (checks !== 0) console.error('type check, lint or fences failed; see the beginning of this output')
console.error(`${specs.passed} passed, ${specs.failed} failed`)
process.exitCode = checks || specs.exitCode

function runSpecs(args: string[]): { passed: number; failed: number; exitCode: number } {
  const folder = mkdtempSync(join(tmpdir(), 'herald-report-'))
  const report = join(folder, 'jest.json')
  // jest loads ES modules only behind the vm-modules flag; its warning would head every run.
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
  const jest = [
    join(root, 'node_modules/jest/bin/jest.js'),
    '--max-workers=2',
    '--json',
    `--outputFile=${report}`,
  ]
  const { status } = spawnSync(process.execPath, [...flags, ...jest, ...args], {
    cwd: root,
    // --json also prints the report to stdout; the readable one goes to stderr.
    stdio: ['inherit', 'ignore', 'inherit'],
  })
  try {
    const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites } = JSON.parse(
      readFileSync(report, 'utf8'),
    )
    // A spec file that does not even load fails, too.
    return {
      passed: numPassedTests,
      failed: numFailedTests + numRuntimeErrorTestSuites,
      exitCode: status ?? 1,
    }
  } catch {
    return { passed: 0, failed: 0, exitCode: status || 1 }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
