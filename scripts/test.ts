import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { root, runChecks } from './run-checks.ts'

// Arguments select specs (`npm test -- packages/db`); the checks of the whole tree then have nothing to say.
const selection = process.argv.slice(2)
const checks = selection.length > 0 ? 0 : runChecks(['check:types', 'check:lint', 'check:fences'])
const first = runSpecs(selection)
const specs = first.failedFiles.length > 0 ? again(first) : first
if (checks !== 0) console.error('type check, lint or fences failed; see the beginning of this output')
console.error(`${specs.passed} passed, ${specs.failed} failed`)
process.exitCode = checks || specs.exitCode

type Result = { passed: number; failed: number; exitCode: number; failedFiles: string[] }

/**
 * Spec files that failed run once more, one after the other: drills, browsers and real time limits share two cores with the
 * other half of the suite. What fails alone as well has failed; what does not is named, so that it can be mended.
 */
function again(before: Result): Result {
  const names = before.failedFiles.map((path) => relative(root, path)).join(', ')
  console.error(`\nfailed beside others, now alone: ${names}\n`)
  const alone = runSpecs(['--runTestsByPath', ...before.failedFiles], 1)
  if (alone.exitCode === 0) console.error(`\npassed alone after failing beside others: ${names}\n`)
  return { ...alone, passed: before.passed + before.failed - alone.failed }
}

function runSpecs(args: string[], workers = 2): Result {
  const folder = mkdtempSync(join(tmpdir(), 'herald-report-'))
  const report = join(folder, 'jest.json')
  // jest loads ES modules only behind the vm-modules flag; its warning would head every run.
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
  const jest = [
    join(root, 'node_modules/jest/bin/jest.js'),
    `--max-workers=${workers}`,
    '--json',
    `--outputFile=${report}`,
  ]
  const { status } = spawnSync(process.execPath, [...flags, ...jest, ...args], {
    cwd: root,
    // --json also prints the report to stdout; the readable one goes to stderr.
    stdio: ['inherit', 'ignore', 'inherit'],
  })
  try {
    const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, testResults } = JSON.parse(
      readFileSync(report, 'utf8'),
    )
    // A spec file that does not even load fails, too.
    return {
      passed: numPassedTests,
      failed: numFailedTests + numRuntimeErrorTestSuites,
      exitCode: status ?? 1,
      failedFiles: (testResults as { name: string; status: string }[])
        .filter((file) => file.status === 'failed')
        .map((file) => file.name),
    }
  } catch {
    return { passed: 0, failed: 0, exitCode: status || 1, failedFiles: [] }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
