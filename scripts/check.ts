import { join } from 'node:path'
import { root, runProgram } from './run-program.ts'

/** Runs checks of package.json in parallel, prints only failed ones, and returns the exit code. */
export function runChecks(names: string[]): Promise<number> {
  const turbo = join(root, 'node_modules', 'turbo', 'bin', 'turbo')
  const args = ['run', ...names, '--continue', '--log-order=grouped', '--output-logs=errors-only']
  const env = {
    ...process.env,
    TURBO_TELEMETRY_DISABLED: '1',
    DO_NOT_TRACK: '1',
    TURBO_NO_UPDATE_NOTIFIER: '1',
  }
  return runProgram([turbo, ...args], { env })
}

if (import.meta.main) process.exitCode = await runChecks(process.argv.slice(2))
