import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '..')

/** Runs checks of package.json side by side and shows only those that complain; answers the exit code. */
export function runChecks(names: string[]): number {
  const turbo = join(root, 'node_modules', 'turbo', 'bin', 'turbo')
  const args = [
    'run',
    ...names,
    '--continue',
    '--log-order=grouped',
    '--output-logs=errors-only',
    '--no-daemon',
  ]
  const env = {
    ...process.env,
    TURBO_TELEMETRY_DISABLED: '1',
    DO_NOT_TRACK: '1',
    TURBO_NO_UPDATE_NOTIFIER: '1',
  }
  return spawnSync(process.execPath, [turbo, ...args], { cwd: root, env, stdio: 'inherit' }).status ?? 1
}
