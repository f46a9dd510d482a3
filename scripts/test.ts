import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { runChecks } from './run-checks.ts'
import { root, runProgram } from './run-program.ts'

// Arguments select specs (`npm test -- packages/db`); the checks of the whole tree then have nothing to say.
const selection = process.argv.slice(2)
const checks = selection.length > 0 ? 0 : await runChecks(['check:types', 'check:lint', 'check:fences'])
const first = await runSpecs(selection)
const specs = first.failedFiles.length > 0 ? await again(first) : first
if (checks !== 0) console.error('type check, lint or fences failed; see the beginning of this output')
console.error(`${specs.passed} passed, ${specs.failed} failed`)
process.exitCode = checks || specs.exitCode

type Result = { passed: number; failed: number; exitCode: number; failedFiles: string[] }

/**
 * Spec files that failed run once more, one after the other: drills, browsers and real time limits share two cores with the
 * other half of the suite. What fails alone as well has failed; what does not is named, so that it can be mended.
 */
async function again(before: Result): Promise<Result> {
  const names = before.failedFiles.map((path) => relative(root, path)).join(', ')
  console.error(`\nfailed beside others, now alone: ${names}\n`)
  const alone = await runSpecs(['--runTestsByPath', ...before.failedFiles], 1)
  if (alone.exitCode === 0) console.error(`\npassed alone after failing beside others: ${names}\n`)
  return { ...alone, passed: before.passed + before.failed - alone.failed }
}

async function runSpecs(args: string[], workers = 2): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'herald-report-'))
  // Also when a signal ends the run.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const report = join(folder, 'jest.json')
  // jest loads ES modules only behind the vm-modules flag; its warning would head every run.
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
  const jest = [
    join(root, 'node_modules/jest/bin/jest.js'),
    `--max-workers=${workers}`,
    '--json',
    `--outputFile=${report}`,
  ]
  const exitCode = await runProgram([...flags, ...jest, ...args])
  try {
    const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, testResults } = JSON.parse(
      readFileSync(report, 'utf8'),
    )
    // A spec file that does not even load fails, too.
    return {
      passed: numPassedTests,
      failed: numFailedTests + numRuntimeErrorTestSuites,
      exitCode,
      failedFiles: (testResults as { name: string; status: string }[])
        .filter((file) => file.status === 'failed')
        .map((file) => file.name),
    }
  } catch {
    return { passed: 0, failed: 0, exitCode: exitCode || 1, failedFiles: [] }
  }
}
