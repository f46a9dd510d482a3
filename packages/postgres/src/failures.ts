/** How a statement failed, if the cause may go away by itself. */
export type Failure =
  /** Deadlock or serialization failure: rolled back. */
  | 'conflict'
  /** Not run: no connection was made, or the server takes no writes (read-only, disk full). */
  | 'refused'
  /** Postgres ended the statement (cancelled, lock not granted, out of memory, I/O error): rolled back. */
  | 'ended'
  /** The connection broke: the statement may have been committed, or still be committed. */
  | 'lost'
  /** No reply within the time limit: the statement may have been committed, or still be committed. */
  | 'slow'
  /** All connections of our own pool were in use, so the statement was not run. */
  | 'busy'

/** SQLSTATEs, Node's network errors and Prisma's codes. A code in this table comes before its class. */
const codes: Partial<Record<Failure, string>> = {
  conflict: 'P2034',
  // 25006: a primary that was demoted, or a replica behind the same address. ENOTFOUND and EAI_AGAIN: the name of a container
  // does not resolve while it restarts.
  refused: '08001 08004 25006 53100 53300 57P03 ECONNREFUSED EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN',
  // 25P03 and 25P04 end the session while its transaction is open.
  ended: '25P03 25P04 55P03 57014',
  lost: '40003 ECONNRESET EPIPE ETIMEDOUT P1001 P1002 P1008 P1017 P2024 P2028',
}
const failureOfCode = new Map(
  Object.entries(codes).flatMap(([failure, list]) =>
    list.split(' ').map((code) => [code, failure as Failure]),
  ),
)

/** SQLSTATE classes: connection, rollback, resources, operator intervention, errors of the system. */
const failureOfClass = new Map<string, Failure>([
  ['08', 'lost'],
  ['40', 'conflict'],
  ['53', 'ended'],
  ['57', 'lost'],
  ['58', 'ended'],
])

/** Errors whose code does not tell enough: those of the driver have none, and PgBouncer uses 08P01 for all. The first match counts. */
const messages: [RegExp, Failure | 'permanent'][] = [
  [/unsupported startup parameter/i, 'permanent'],
  [
    /query_wait_timeout|server_login_retry|cannot connect to server|max_client_conn|login_timeout/i,
    'refused',
  ],
  [/timeout exceeded when trying to connect/i, 'busy'],
  [/Query read timeout/i, 'slow'],
  [/Connection terminated due to connection timeout|not queryable|Client was closed/i, 'refused'],
  [/Connection terminated/i, 'lost'],
]

/** Wrong password or role, unknown database: another attempt fails as well, although the error ends the session. */
const wrongAddress = /^(28|3D)/

/**
 * Linux ends a connection whose packets get no reply with the error that the network reported last: EHOSTUNREACH, also if a statement
 * was in progress.
 */
function isOfEstablished(error: Error): boolean {
  const { syscall } = error as NodeJS.ErrnoException
  return syscall === 'read' || syscall === 'write'
}

/** The reply to a COMMIT was lost, so the transaction may have been committed, or still be committed. Its failure is that of its cause. */
export class CommitInDoubt extends Error {
  override name = 'CommitInDoubt'

  constructor(cause: Error) {
    super(`the reply to a COMMIT was lost: ${cause.message}`, { cause })
  }
}

/** Undefined if a repetition would fail as well, or if the error does not come from Postgres or the network. */
export function failureOf(error: unknown): Failure | undefined {
  if (!Error.isError(error)) return undefined
  if (error instanceof CommitInDoubt) return failureOf(error.cause)
  const code = codeOf(error) ?? ''
  const known = failureOfCode.get(code)
  if (known) return isOfEstablished(error) ? 'lost' : known
  // Its message may quote what a caller sent.
  if (isDataError(error)) return undefined
  const described = messages.find(([pattern]) => pattern.test(messageOf(error)))?.[1]
  if (described) return described === 'permanent' ? undefined : described
  if (/^[0-9A-Z]{5}$/.test(code)) {
    const ofClass = failureOfClass.get(code.slice(0, 2))
    if (ofClass) return ofClass
  }
  // A pooler ends a session for reasons of its own, with codes of its own.
  const { severity } = error as { severity?: string }
  const endsSession = severity === 'FATAL' || severity === 'PANIC'
  return endsSession && !wrongAddress.test(code) ? 'lost' : undefined
}

type Wrapped = {
  /** Errors of other origin, e.g. our own answers, may have a number here. */
  code?: unknown
  meta?: { driverAdapterError?: { cause?: { originalCode?: string; originalMessage?: string } } }
}

/** Prisma wraps the driver's error; the SQLSTATE is inside. */
export function codeOf(error: unknown): string | undefined {
  const { code, meta } = error as Wrapped
  const own = typeof code === 'string' ? code : undefined
  return meta?.driverAdapterError?.cause?.originalCode ?? own
}

function messageOf(error: Error): string {
  return (error as Wrapped).meta?.driverAdapterError?.cause?.originalMessage ?? error.message
}

export function isTransient(error: unknown): boolean {
  return failureOf(error) !== undefined
}

/** Rolled back because of another transaction: it may be repeated at once. */
export function isConflict(error: unknown): boolean {
  return failureOf(error) === 'conflict'
}

/** Postgres did not do it, or did not reply: transient, but not a conflict that it reported. */
export function isUnreachable(error: unknown): boolean {
  const failure = failureOf(error)
  return failure !== undefined && failure !== 'conflict'
}

/**
 * Postgres is down, restarting or read-only, also for other processes. A slow or ended statement or a busy pool of ours does not
 * prove that.
 */
export function isConnectionLost(error: unknown): boolean {
  const failure = failureOf(error)
  return failure === 'refused' || failure === 'lost'
}

/** The reply to a statement was lost, so it may have been committed, or still be committed. */
export function isInDoubt(error: unknown): boolean {
  const failure = failureOf(error)
  return failure === 'lost' || failure === 'slow'
}

/**
 * Postgres rejected what the statement contains: data (22), constraints (23), syntax, names or privileges (42), or a value too long for an
 * index (54000). Only then may a group of rows be split to find the one to blame. After any other error each part would fail as well, at
 * many times the load.
 */
export function isDataError(error: unknown): boolean {
  return Error.isError(error) && /^((22|23|42)[0-9A-Z]{3}|54000)$/.test(codeOf(error) ?? '')
}
