/** How users call this program: it is not installed on their PATH. */
export const HERALD = 'npm run herald --'

/** The examples at the end of a command's help. */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${HERALD} ${line}`).join('\n')}`
}
