import { CommanderError } from 'commander'
import { SilentFailure, sentenceOf, UsageFailure } from './failure.ts'
import { printable } from './io.ts'
import { createProgram } from './program.ts'

/** Runs a command and returns its exit code: 0 success, 1 failure, 2 invalid arguments. */
export async function runCommand(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed its message or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (!(error instanceof SilentFailure)) process.stderr.write(`${printable(sentenceOf(error))}\n`)
    return error instanceof UsageFailure ? 2 : 1
  }
}
