import { SettingsError } from './kinds.ts'
import { type Inspection, inspectSettings, type ReadResult, readSettings } from './read-settings.ts'
import type { Settings } from './settings-table.ts'

/** For `main`: the settings of this process. A wrong setting prints one sentence on stderr and exits with 1. */
export function loadSettings(): ReadResult {
  try {
    return readSettings(process.env)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

/** For the doctor, which continues when a setting is wrong. */
export function inspectOwnSettings(): Inspection {
  return inspectSettings(process.env)
}

/** The caller's working directory: npm runs its scripts in the folder of package.json. */
export function callerDirectory(): string {
  return process.env.INIT_CWD || process.cwd()
}

/** The URL at which programs on this machine reach the HTTP interface. */
export function baseUrlOf({ host, port }: Pick<Settings, 'host' | 'port'>): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
