import type { Socket } from 'node:net'
import pg from 'pg'
import type { Database } from './database.ts'
import { onConnection, type Runner, transaction } from './statement.ts'

/** Rows for a table, each made with `copyText`. */
export type Copied = { table: string; columns: readonly string[]; rows: Buffer }

type CopyConnection = { stream: Pick<Socket, 'writable' | 'write' | 'cork' | 'uncork'>; endCopyFrom(): void }

/** Type and length of a message with as many bytes of rows. */
function headerOf(length: number): Buffer {
  const header = Buffer.from('d\0\0\0\0')
  header.writeInt32BE(length + 4, 1)
  return header
}

/** The driver's statement, which refuses to send data. */
class CopyQuery extends pg.Query {
  readonly #left: Buffer[]

  constructor(text: string, rows: Buffer[], done: (error: Error | null) => void) {
    super(...([text, undefined, done] as unknown as [string]))
    this.#left = rows
  }

  /**
   * Called by the driver for each table, when Postgres waits for its rows. Sent earlier, they would confuse PgBouncer. If Postgres
   * refuses a row, it skips the rest and reports the error. The driver's own function copies all rows into a new buffer first.
   */
  handleCopyInResponse(connection: CopyConnection): void {
    const rows = this.#left.shift()!
    const { stream } = connection
    if (!stream.writable) return
    stream.cork()
    stream.write(headerOf(rows.length))
    stream.write(rows)
    connection.endCopyFrom()
    stream.uncork()
  }
}

/**
 * Inserts rows into tables without rules, in one transaction. Compared with an INSERT of columns, Postgres writes a page of rows at a
 * time and does not take lists apart. Not for statements that need the rows' generated values, or ON CONFLICT.
 *
 * All tables are one message, which Postgres runs as one transaction. The process makes the rows of the next call while it waits for a
 * reply, so each reply waits for it; BEGIN, COMMIT and a message for each table would have twice as many. Only with `first`, which runs at
 * the beginning of the transaction, there are these.
 */
export function copyInto(
  db: Database,
  tables: readonly Copied[],
  first?: (runner: Runner) => Promise<void>,
): Promise<void> {
  const text = tables.map(({ table, columns }) => `COPY ${table} (${columns}) FROM STDIN`).join('; ')
  return onConnection(db, async (connection) => {
    const copy = async () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const rows = tables.map((copied) => copied.rows)
      connection.client.query(new CopyQuery(text, rows, (error) => (error ? reject(error) : resolve())))
      await promise.catch((error) => {
        // Not refused by Postgres: it may still be at work, for which the next user of the connection would wait.
        if (!(error instanceof pg.DatabaseError)) connection.close = true
        throw error
      })
    }
    if (!first) await copy()
    else
      await transaction(connection, async (runner) => {
        await first(runner)
        await copy()
      })
  })
}

const SPECIAL = /[\\\b\f\n\r\t\v]/
const specials = /[\\\b\f\n\r\t\v]/g

/** A text as a value of a row; null and undefined are NULL. */
export function copyText(text: string | null | undefined): string {
  if (text === null || text === undefined) return '\\N'
  return SPECIAL.test(text) ? text.replace(specials, escaped) : text
}

const letters: Record<string, string> = {
  '\b': 'b',
  '\f': 'f',
  '\n': 'n',
  '\r': 'r',
  '\t': 't',
  '\v': 'v',
}
const escaped = (special: string) => `\\${letters[special] ?? special}`
