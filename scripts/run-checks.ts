import { join } from 'node:path'
import { root, runProgram } from './run-program.ts'

/** Runs checks of package.json side by side and shows only those that complain; answers the exit code. */
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
