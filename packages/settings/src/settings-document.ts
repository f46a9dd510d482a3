import type { Setting } from './kinds.ts'
import { settingsTable, vendorUrlTable } from './settings-table.ts'

/** The text of docs/settings.md. */
export function settingsDocument(): string {
  return `# Settings

Every program of Herald reads its settings from the environment, once, when it starts. A wrong value is one sentence and
exit code 1; an unknown \`HERALD_\` name is a warning. A blank value counts as not set. Names marked * hold secrets: they
are never printed, and may instead be given as a file by adding \`_FILE\` to the name.

${table(Object.values(settingsTable))}

Addresses of the vendors, for other regions, proxies and simulators:

${table(Object.values(vendorUrlTable))}
`
}

function table(settings: Setting<unknown>[]): string {
  const rows = settings.map(
    ({ name, about, secret, fallback, fallbackText }) =>
      `| \`${name}\`${secret ? ' *' : ''} | ${fallbackText ?? `\`${fallback}\``} | ${about} |`,
  )
  return ['| name | default | meaning |', '|---|---|---|', ...rows].join('\n')
}
