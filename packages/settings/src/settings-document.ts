import type { Setting } from './kinds.ts'
import { settingsTable, vendorUrlTable } from './settings-table.ts'

/** The text of docs/settings.md. */
export function settingsDocument(): string {
  return `# Settings

Every program reads its settings from the environment once, when it starts. If a value is wrong, the program prints one sentence
and exits with code 1. An unknown \`HERALD_\` name is a warning. A blank value counts as not set. Settings marked * are secrets: they
are never printed, and \`_FILE\` added to the name sets the path of a file that contains the value.

${table(Object.values(settingsTable), { values: true })}

Vendor URLs (\`http://\` or \`https://\`), to be changed for other regions, proxies and simulators:

${table(Object.values(vendorUrlTable))}
`
}

function table(settings: Setting<unknown>[], shown: { values?: true } = {}): string {
  const line = (name: string, fallback: string, values: string, about: string) =>
    `| ${[name, fallback, ...(shown.values ? [values] : []), about].join(' | ')} |`
  const rows = settings.map(({ name, about, values, secret, fallback, fallbackText }) =>
    line(`\`${name}\`${secret ? ' *' : ''}`, fallbackText ?? `\`${fallback}\``, values, about),
  )
  return [
    line('name', 'default', 'values', 'meaning'),
    shown.values ? '|---|---|---|---|' : '|---|---|---|',
    ...rows,
  ].join('\n')
}
