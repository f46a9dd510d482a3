import { HeraldError } from '@herald/client'
import { SettingsError } from '@herald/settings'

/** A failure that the user can fix; the message is one sentence. */
export class CliFailure extends Error {
  override name = 'CliFailure'
}

/** Invalid arguments; exit code 2. */
export class UsageFailure extends CliFailure {
  override name = 'UsageFailure'
}

/** Exit code 1 without a message: the output already says what is wrong. */
export class SilentFailure extends Error {
  override name = 'SilentFailure'
}

/** The sentence for stderr. */
export function sentenceOf(error: unknown): string {
  if (error instanceof HeraldError) return error.message
  if (error instanceof CliFailure || error instanceof SettingsError) return error.message
  return `The command failed: ${reasonOf(error)}.`
}

/** Errors of fetch without a response: connection refused or broken, or a timeout. */
export const isUnanswered = (error: unknown): error is Error =>
  error instanceof Error && (error.name === 'TimeoutError' || error.message === 'fetch failed')

/** Codes of failures before a request was sent. */
const UNSENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$|CERT/

/** Whether the server may have done what it was asked, although there is no answer. It answers 503 only if nothing was done. */
export function isInDoubt(error: unknown): boolean {
  if (error instanceof HeraldError) return error.status >= 500 && error.status !== 503
  if (!(error instanceof Error)) return false
  // fetch calls an answer that ends early `terminated`.
  const isLost = error.message === 'terminated' || isUnanswered(error)
  return isLost && !UNSENT.test((error.cause as NodeJS.ErrnoException | undefined)?.code ?? '')
}

/** The innermost cause: fetch hides it, and an AggregateError of connection attempts has no message of its own. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (error.cause instanceof Error) return reasonOf(error.cause)
  return (error.message || (error as NodeJS.ErrnoException).code || error.name).replace(/\.$/, '')
}
