import { CommanderError } from 'commander'
import { sentenceOf, Unsatisfied, UsageFailure } from './failure.ts'
import { createProgram } from './program.ts'

/** Runs one command and answers the exit code: 0 done, 1 failed, 2 called wrongly. */
export async function runHerald(args: string[]): Promise<number> {
  // Who reads us may have seen enough, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  try {
    await createProgram().parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed its sentence, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (error instanceof Unsatisfied) return 1
    process.stderr.write(`${sentenceOf(error)}\n`)
    return error instanceof UsageFailure ? 2 : 1
  }
}
