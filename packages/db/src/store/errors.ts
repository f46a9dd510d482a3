import { retryWithBackoff } from '@herald/async'

/** How a statement failed, if the cause may go away by itself. */
type TransientKind =
  /** Deadlock or serialization failure: rolled back. */
  | 'conflict'
  /** No connection was made, so the statement was not run. */
  | 'refused'
  /** The connection broke: the statement may have been committed, or still be committed. */
  | 'lost'
  /** No reply within the time limit: the statement may have been committed, or still be committed. */
  | 'slow'
  /** All connections of our own pool were in use, so the statement was not run. */
  | 'busy'

/** SQLSTATEs, Node's network errors and Prisma's codes. */
const codes: Partial<Record<TransientKind, string>> = {
  conflict: '40P01 40001 P2034',
  // ENOTFOUND and EAI_AGAIN: the name of a container does not resolve while it restarts.
  refused: '57P03 53300 ECONNREFUSED EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN',
  lost: '57P01 57P02 08000 08003 08006 ECONNRESET EPIPE ETIMEDOUT P1001 P1002 P1008 P1017 P2024 P2028',
}
const kindOfCode = new Map(
  Object.entries(codes).flatMap(([kind, list]) =>
    list.split(' ').map((code) => [code, kind as TransientKind]),
  ),
)

/** Errors of the driver that have no code; the first match counts. */
const messages: [RegExp, TransientKind][] = [
  [/timeout exceeded when trying to connect/i, 'busy'],
  [/Query read timeout/i, 'slow'],
  [/Connection terminated due to connection timeout/i, 'refused'],
  [/Connection terminated/i, 'lost'],
]

function kindOf(error: unknown): TransientKind | undefined {
  if (!(error instanceof Error)) return undefined
  return kindOfCode.get(codeOf(error) ?? '') ?? messages.find(([pattern]) => pattern.test(error.message))?.[1]
}

/** Prisma wraps the driver's error; the SQLSTATE is inside. */
export function codeOf(error: unknown): string | undefined {
  const { code, meta } = error as {
    code?: string
    meta?: { driverAdapterError?: { cause?: { originalCode?: string } } }
  }
  return meta?.driverAdapterError?.cause?.originalCode ?? code
}

export function isTransient(error: unknown): boolean {
  return kindOf(error) !== undefined
}

/** Postgres did not reply: transient, but not a conflict that it reported. */
export function isUnreachable(error: unknown): boolean {
  const kind = kindOf(error)
  return kind !== undefined && kind !== 'conflict'
}

/** Postgres is down or restarting, also for other processes. A slow statement or a busy pool of ours does not prove that. */
export function isConnectionLost(error: unknown): boolean {
  const kind = kindOf(error)
  return kind === 'refused' || kind === 'lost'
}

/** The reply to a statement was lost, so it may have been committed, or still be committed. */
export function isInDoubt(error: unknown): boolean {
  const kind = kindOf(error)
  return kind === 'lost' || kind === 'slow'
}

export type RetryOptions = { forMs?: number; signal?: AbortSignal }

/**
 * Repeats `work` after transient errors. Only for work that may be applied twice without harm: after a lost connection it is
 * unknown whether the commit happened.
 */
export function retrying<T>(work: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  return retryWithBackoff(work, { ...options, forMs: options.forMs ?? 10_000, isTransient })
}
