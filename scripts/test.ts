import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { runChecks } from './check.ts'
import { memoryFolder } from './memory-folder.ts'
import { root, runProgram } from './run-program.ts'

// Programs that specs start inherit it.
if (!process.env.TMPDIR) process.env.TMPDIR = memoryFolder() ?? tmpdir()

// Arguments select specs (`npm test -- packages/db`); the checks of the whole tree are skipped then. They run next to the first specs, which
// often wait.
const selection = process.argv.slice(2)
const checking = selection.length > 0 ? 0 : runChecks(['check:types', 'check:lint', 'check:fences'])
const first = await runSpecs(selection)
const checks = await checking
// In CI nothing is repeated: a spec that fails next to others fails the run.
const specs = first.failedFiles.length > 0 && !process.env.CI ? await repeatAlone(first) : first
if (checks !== 0) console.error('type check, lint or fences failed; see their output among the first specs')
console.error(`${specs.passed} passed, ${specs.failed} failed`)
process.exitCode = checks || specs.exitCode

type Result = { passed: number; failed: number; exitCode: number; failedFiles: string[] }

/**
 * Repeats failed spec files one after the other: on a busy laptop, specs with real time limits may fail next to others. A file
 * that passes alone is only a warning.
 */
async function repeatAlone(before: Result): Promise<Result> {
  console.error('\nrepeating failed spec files one after the other\n')
  const alone = await runSpecs(['--runTestsByPath', ...before.failedFiles], 1)
  for (const path of before.failedFiles.filter((path) => !alone.failedFiles.includes(path)))
    console.error(`warning: ${relative(root, path)} failed next to other specs and passed alone`)
  return { ...alone, passed: before.passed + before.failed - alone.failed }
}

/** `workers`: more than the cores of a small machine, because many specs wait for leases, servers and pauses. */
async function runSpecs(args: string[], workers = 4): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'herald-report-'))
  // On exit, so that it also happens when a signal ends the run.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const report = join(folder, 'jest.json')
  const flags = ['--disable-warning=ExperimentalWarning']
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
    // A spec file that does not load counts as failed.
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
