import pino, { type DestinationStream, type Logger } from 'pino'
import { redact, redactLine } from './redact.ts'
import { stderrWriter } from './stderr-writer.ts'

export type { Logger } from 'pino'

export type LoggerOptions = {
  /** The program's name, on every line. */
  name: string
  level?: string
  /** Default: stderr, because stdout is for output to users. */
  destination?: DestinationStream
}

/** Writes one line of JSON per event, with secrets redacted (see redact.ts). A message must not contain a secret. */
export function createLogger({ name, level = 'info', destination }: LoggerOptions): Logger {
  const logger = pino(
    {
      name,
      level,
      base: { name, pid: process.pid },
      timestamp: timeField,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => redact(fields) as Record<string, unknown>,
      },
      hooks: { streamWrite: redactLine },
      serializers: { err: serializeError, error: serializeError },
    },
    destination ?? stderrDestination(),
  )
  // pino does not redact the fields of a child logger. Children inherit this method, so their children are covered too.
  const { child } = logger
  logger.child = function (this: Logger, fields: object, ...rest: []) {
    return child.call(this, redact(fields) as Record<string, unknown>, ...rest)
  } as Logger['child']
  return logger
}

/** Warnings and errors are written at once. pino sets `lastLevel` of a destination with this symbol. */
function stderrDestination(): DestinationStream {
  const writer = stderrWriter()
  const destination = {
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write: (line: string) => writer.write(line, destination.lastLevel < pino.levels.values.warn!),
  }
  return destination
}

/** Time is written in milliseconds; lines of the same one share its text. */
let lastMs = 0
let lastTime = ''
function timeField(): string {
  const now = Date.now()
  if (now !== lastMs) {
    lastMs = now
    lastTime = `,"time":"${new Date(now).toISOString()}"`
  }
  return lastTime
}

/** Fields in which Postgres quotes the refused row: vendor tokens, names, access tokens. */
const quoting = new Set(['detail', 'where', 'internalQuery'])

/** Only plain fields are kept: some libraries attach whole connections to their errors. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { type, message, stack, ...rest } = pino.stdSerializers.err(error)
  const plain = Object.entries(rest).filter(
    ([name, value]) => value !== null && typeof value !== 'object' && !quoting.has(name),
  )
  return { ...(redact(Object.fromEntries(plain)) as object), type, message, stack }
}
