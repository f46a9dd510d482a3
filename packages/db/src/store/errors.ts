/** Deadlock, serialization failure, and the ways a connection is lost or refused while Postgres restarts. */
const passing = new Set([
  '40P01',
  '40001',
  '57P01',
  '57P02',
  '57P03',
  '08000',
  '08003',
  '08006',
  '53300',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  // A container that is restarted loses its name for a while.
  'ENOTFOUND',
  'EAI_AGAIN',
  // Prisma's own words for the same: unreachable, timed out, connection closed, pool exhausted (also for a transaction), write
  // conflict.
  'P1001',
  'P1002',
  'P1008',
  'P1017',
  'P2024',
  'P2028',
  'P2034',
])

/** Prisma wraps the driver's error; the SQLSTATE is inside. */
export function codeOf(error: unknown): string | undefined {
  const { code, meta } = error as {
    code?: string
    meta?: { driverAdapterError?: { cause?: { originalCode?: string } } }
  }
  return meta?.driverAdapterError?.cause?.originalCode ?? code
}

export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = codeOf(error)
  if (code && passing.has(code)) return true
  return /Connection terminated|timeout exceeded when trying to connect|Query read timeout/i.test(
    error.message,
  )
}

/** Postgres cannot be reached or is restarting: nothing was done, or nobody can know. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = codeOf(error)
  return isTransient(error) && code !== '40P01' && code !== '40001' && code !== 'P2034'
}

/** Postgres itself went away, for others too; a statement or a pool of ours that took too long says nothing of that. */
export function isConnectionLost(error: unknown): boolean {
  return (
    isUnreachable(error) &&
    !/Query read timeout|timeout exceeded when trying to connect/i.test((error as Error).message)
  )
}

/** Postgres refused before it began: whatever was asked for has not been done. */
const refusedAtTheDoor = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  '57P03',
  '53300',
])

/** The answer to a statement was lost, so that it may have been committed, or may be yet. */
export function isInDoubt(error: unknown): boolean {
  return (
    isUnreachable(error) &&
    !refusedAtTheDoor.has(codeOf(error) ?? '') &&
    !/timeout exceeded when trying to connect|due to connection timeout/i.test((error as Error).message)
  )
}

export type RetryOptions = { forMs?: number; signal?: AbortSignal }

/**
 * Repeats a verb through deadlocks and lost connections. Only for verbs that may be applied twice without harm: a lost
 * connection does not tell whether the commit happened.
 */
export async function retrying<T>(verb: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const until = performance.now() + (options.forMs ?? 10_000)
  for (let attempt = 0; ; attempt++) {
    try {
      return await verb()
    } catch (error) {
      if (!isTransient(error) || performance.now() > until || options.signal?.aborted) throw error
      await new Promise((resolve) =>
        setTimeout(resolve, Math.min(1000, 20 * 2 ** attempt) * (0.5 + Math.random())),
      )
    }
  }
}
