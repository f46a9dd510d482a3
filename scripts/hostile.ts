import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** The whole flood of hostile requests, of which `npm test` sends a slice; minutes instead of seconds. */
const root = join(import.meta.dirname, '..')
const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
const jest = [join(root, 'node_modules/jest/bin/jest.js'), 'apps/api/test/hostile-flood.spec.ts']
const { status } = spawnSync(process.execPath, [...flags, ...jest], {
  cwd: root,
  stdio: 'inherit',
  env: { HOSTILE_REQUESTS: '98000', ...process.env },
})
process.exitCode = status ?? 1
