import { SettingsError } from './kinds.ts'
import { type Inspection, inspectSettings, type ReadResult, readSettings } from './read-settings.ts'

/** For `main`: the settings of this process. A wrong one is one sentence on stderr and exit code 1. */
export function loadSettings(): ReadResult {
  try {
    return readSettings(process.env)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

/** For the doctor, who looks at the rest when a setting is wrong. */
export function inspectOwnSettings(): Inspection {
  return inspectSettings(process.env)
}

/** Where the person stands who called us: npm runs its scripts in the folder of package.json. */
export function callerDirectory(): string {
  return process.env.INIT_CWD || process.cwd()
}
