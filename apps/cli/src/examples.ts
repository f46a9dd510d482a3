/** The examples that end a command's help. */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ npm run herald -- ${line}`).join('\n')}`
}
