import { SettingsError } from './kinds.ts'
import { type ReadResult, readSettings } from './read-settings.ts'

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
