import pino, { type DestinationStream, type Logger } from 'pino'
import { redact, redactLine } from './redact.ts'

export type { Logger } from 'pino'

export type LoggerOptions = {
  /** The program's name, on every line. */
  name: string
  level?: string
  /** Stderr when not given: what a program prints for people goes to stdout. */
  destination?: DestinationStream
}

/** One line of JSON an event, with secrets hidden (see redact.ts). A message must not quote a secret. */
export function createLogger({ name, level = 'info', destination }: LoggerOptions): Logger {
  const logger = pino(
    {
      name,
      level,
      base: { name, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => redact(fields) as Record<string, unknown>,
      },
      hooks: { streamWrite: redactLine },
      serializers: { err: serializeError, error: serializeError },
    },
    destination ?? pino.destination({ fd: 2, sync: true }),
  )
  // pino formats the fields of a child as they are; children inherit this method, so theirs are covered, too.
  const { child } = logger
  logger.child = function (this: Logger, fields: object, ...rest: []) {
    return child.call(this, redact(fields) as Record<string, unknown>, ...rest)
  } as Logger['child']
  return logger
}

/** Where Postgres quotes the row that it refused: vendor tokens, names, passes. */
const quoting = new Set(['detail', 'where', 'internalQuery'])

/** Libraries hang whole connections on their errors: only plain fields are kept. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { type, message, stack, ...rest } = pino.stdSerializers.err(error)
  const plain = Object.entries(rest).filter(
    ([name, value]) => value !== null && typeof value !== 'object' && !quoting.has(name),
  )
  return { ...(redact(Object.fromEntries(plain)) as object), type, message, stack }
}
