import { type Settings, settingsTable, vendorUrlTable } from './settings-table.ts'

/** The settings by variable name, fit for a log: secrets say only whether they are set. */
export function describeSettings(settings: Settings): Record<string, string> {
  const described: Record<string, string> = {}
  for (const [key, { name, secret }] of Object.entries(settingsTable)) {
    const value = settings[key as keyof typeof settingsTable]
    described[name] = value === undefined ? '(not set)' : secret ? '(set)' : show(value)
  }
  for (const [key, { name }] of Object.entries(vendorUrlTable)) {
    described[name] = settings.vendorUrls[key as keyof typeof vendorUrlTable]
  }
  return described
}

const show = (value: unknown) => (value === true ? 'on' : value === false ? 'off' : String(value))
