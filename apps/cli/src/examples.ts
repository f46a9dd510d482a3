/** How people call this program; there is no command of its own on their path. */
export const HERALD = 'npm run herald --'

/** The examples that end a command's help. */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${HERALD} ${line}`).join('\n')}`
}
