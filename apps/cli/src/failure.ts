import { HeraldError } from '@herald/client'
import { SettingsError } from '@herald/settings'

/** Something that a person can put right; the message is one sentence. */
export class CliFailure extends Error {
  override name = 'CliFailure'
}

/** The command was called in a way that it does not know; exit code 2. */
export class UsageFailure extends CliFailure {
  override name = 'UsageFailure'
}

/** The answer was given and is not the good one: exit code 1 without another word. */
export class Unsatisfied extends Error {
  override name = 'Unsatisfied'
}

/** One sentence for whatever went wrong. */
export function sentenceOf(error: unknown): string {
  if (error instanceof HeraldError) return error.message
  if (error instanceof CliFailure || error instanceof SettingsError) return error.message
  return `The command failed: ${reasonOf(error)}.`
}

/** What fetch rejects with when there was no answer: nobody there, a broken connection, a time limit. */
export const isUnanswered = (error: unknown): error is Error =>
  error instanceof Error && (error.name === 'TimeoutError' || error.message === 'fetch failed')

/** The innermost cause in words: fetch hides it, and Node joins the attempts on several addresses without a message. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (error.cause instanceof Error) return reasonOf(error.cause)
  return (error.message || (error as NodeJS.ErrnoException).code || error.name).replace(/\.$/, '')
}
