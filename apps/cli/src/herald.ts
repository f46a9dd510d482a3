import { CommanderError } from 'commander'
import { SilentFailure, sentenceOf, UsageFailure } from './failure.ts'
import { printable } from './io.ts'
import { createProgram } from './program.ts'

// A reader such as `head` may close the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})
try {
  await createProgram().parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
  // Commander has printed its message or the help.
  if (!(error instanceof CommanderError || error instanceof SilentFailure))
    process.stderr.write(`${printable(sentenceOf(error))}\n`)
}

/** 0 success, 1 failure, 2 invalid arguments. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  return error instanceof UsageFailure ? 2 : 1
}
