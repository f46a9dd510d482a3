import { SettingsError } from './kinds.ts'
import { type Settings, settingsTable } from './settings-table.ts'

/** The value of a setting that this program requires. Throws SettingsError when it is not set. */
export function requireSetting<Key extends keyof typeof settingsTable>(
  settings: Settings,
  key: Key,
): NonNullable<Settings[Key]> {
  const value = settings[key]
  if (value === undefined) {
    const { name, about } = settingsTable[key]
    throw new SettingsError(`${name} is not set: ${about}`)
  }
  return value as NonNullable<Settings[Key]>
}
