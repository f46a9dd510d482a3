import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { memoryFolder } from './memory-folder.ts'
import { root, runProgram } from './run-program.ts'

/** `spec`: what `npm test` runs. `e2e`: browsers, drills with faults and floods, which take minutes each (`npm run e2e`). */
export type SpecKind = 'spec' | 'e2e'
export type SpecResult = { passed: number; failed: number; exitCode: number; failedFiles: string[] }

/** Runs the spec files of a kind that `selection` names, or all. In CI nothing is repeated: a spec that fails next to others fails the run. */
export async function runSpecs(kind: SpecKind, selection: readonly string[]): Promise<SpecResult> {
  // Programs that specs start inherit it.
  if (!process.env.TMPDIR) process.env.TMPDIR = memoryFolder() ?? tmpdir()
  const first = await runJest(kind, selection)
  return first.failedFiles.length > 0 && !process.env.CI ? repeatAlone(kind, first) : first
}

/**
 * Repeats failed spec files one after the other: on a busy laptop, specs with real time limits may fail next to others. A file
 * that passes alone is only a warning.
 */
async function repeatAlone(kind: SpecKind, before: SpecResult): Promise<SpecResult> {
  console.error('\nrepeating failed spec files one after the other\n')
  const alone = await runJest(kind, ['--runTestsByPath', ...before.failedFiles], 1)
  for (const path of before.failedFiles.filter((path) => !alone.failedFiles.includes(path)))
    console.error(`warning: ${relative(root, path)} failed next to other specs and passed alone`)
  return { ...alone, passed: before.passed + before.failed - alone.failed }
}

/** `workers`: more than the cores of a small machine, because many specs wait for leases, servers and pauses. */
async function runJest(kind: SpecKind, args: readonly string[], workers = 4): Promise<SpecResult> {
  const folder = mkdtempSync(join(tmpdir(), 'herald-report-'))
  // On exit, so that it also happens when a signal ends the run.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const report = join(folder, 'jest.json')
  const flags = ['--disable-warning=ExperimentalWarning']
  const jest = [
    join(root, 'node_modules/jest/bin/jest.js'),
    `--testMatch=<rootDir>/{packages,apps,scripts,bench}/**/*.${kind}.ts`,
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
