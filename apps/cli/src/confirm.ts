import { createInterface } from 'node:readline/promises'
import { CliFailure } from './failure.ts'

/** Asks the user to type the name of what is lost. */
export async function confirmByName(what: string, name: string): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const typed = await new Promise<string>((resolve) => {
      // Without an answer: the end of stdin.
      terminal.once('close', () => resolve(''))
      terminal
        .question(`${what} This cannot be undone. Type ${name} to confirm: `)
        .then(resolve, () => resolve(''))
    })
    if (typed.trim() !== name) throw new CliFailure('Nothing was erased: the name was not confirmed.')
  } finally {
    terminal.close()
  }
}
