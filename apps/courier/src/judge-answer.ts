import type { PostResult } from '@herald/outbound'

/** What follows from the answer to a request. */
export type Judgement =
  | { kind: 'sent'; status: number }
  | {
      kind: 'failed'
      status?: number
      error: string
      pauseSeconds: number
      rest?: { cause: string; reason: string }
    }

const FIRST_PAUSE = 1
const MAX_PAUSE = 3600
/** Seconds for which requests may fail before the webhook is suspended. */
const PATIENCE = 72 * 3600
const GONE = 410

/**
 * 2xx ends a request. Any other answer, or none, is repeated after a pause that doubles up to an hour, of which a random half is left out, so
 * that the webhooks of a server that was down do not all come back at once. `attempts` and `failingSeconds` are those before this request.
 */
export function judgeAnswer(
  { status, error, retryAfter }: PostResult,
  { attempts, failingSeconds }: { attempts: number; failingSeconds: number },
  random: () => number = Math.random,
): Judgement {
  if (status !== undefined && status >= 200 && status <= 299) return { kind: 'sent', status }
  const doubled = Math.min(MAX_PAUSE, FIRST_PAUSE * 2 ** Math.min(attempts, 20))
  const pause = doubled * (0.5 + random() / 2)
  const failed = {
    kind: 'failed' as const,
    status,
    error: error ?? textOf(status!),
    pauseSeconds: Math.min(MAX_PAUSE, Math.max(pause, retryAfter ?? 0)),
  }
  if (status === GONE)
    return { ...failed, rest: { cause: 'gone', reason: 'the server answered with status 410 (gone)' } }
  if (failingSeconds >= PATIENCE)
    return {
      ...failed,
      rest: { cause: 'failing', reason: `requests failed for 72 hours, at last: ${failed.error}` },
    }
  return failed
}

function textOf(status: number): string {
  return status >= 300 && status <= 399 ? `status ${status}: redirects are not followed` : `status ${status}`
}
