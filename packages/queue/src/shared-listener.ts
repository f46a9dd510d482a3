import { EventEmitter } from 'node:events'
import type { PgPoolClient } from 'bullmq'
import type pg from 'pg'

/** `idle` resolves when the last statement has ended. */
type Connection = {
  client: pg.PoolClient
  users: Set<Listener>
  idle: Promise<unknown>
  looking: NodeJS.Timeout
}

/** How lost notifications are replaced: every `everyMs` those with the `payloads` that are found. */
type Look = { everyMs: number; channel: string; payloads(): Promise<readonly string[]> }

/** One worker's view of the connection. BullMQ listens to `notification` and `error`, and releases it once. */
class Listener extends EventEmitter {
  readonly #connection: Connection
  readonly #fail: (error: Error) => void
  readonly #leave: (listener: Listener) => void

  constructor(connection: Connection, fail: (error: Error) => void, leave: (listener: Listener) => void) {
    super()
    this.#connection = connection
    this.#fail = fail
    this.#leave = leave
  }

  /** BullMQ would repeat a LISTEN that got no answer on the same connection forever; an error event makes it ask for another. */
  async query(text: string, values?: readonly unknown[]): Promise<unknown> {
    const connection = this.#connection
    // Workers that start together would send their statements at once, which the driver will not queue in its next version.
    const asked = connection.idle.then(() => connection.client.query(text, values as unknown[]))
    connection.idle = asked.catch(() => {})
    try {
      return await asked
    } catch (error) {
      this.#fail(error as Error)
      throw error
    }
  }

  release(): void {
    this.#leave(this)
  }
}

/**
 * Lends one connection for LISTEN to all workers of the process. Every job is announced on one channel for all queues: with a
 * connection per worker, each of the 17 of the standalone would wake a server process and this one forevery job.
 */
export function createSharedListener(
  connect: () => Promise<pg.PoolClient>,
  look: Look,
): () => Promise<PgPoolClient> {
  let current: Promise<Connection> | undefined

  function open(): Promise<Connection> {
    const opening = connect().then((client) => {
      const users = new Set<Listener>()
      const tell = (message: { channel: string; payload?: string }) => {
        for (const user of users) user.emit('notification', message)
      }
      const looking = setInterval(() => {
        look.payloads().then(
          (payloads) => {
            for (const payload of payloads) tell({ channel: look.channel, payload })
          },
          // The next look comes soon, and watchdogs notice a server that is down.
          () => {},
        )
      }, look.everyMs).unref()
      const connection: Connection = { client, users, idle: Promise.resolve(), looking }
      client.on('notification', tell)
      client.on('error', (error) => end(connection, opening, error))
      return connection
    })
    opening.catch(() => forget(opening))
    return opening
  }

  function forget(opening: Promise<Connection>): void {
    if (current === opening) current = undefined
  }

  /** Closes the connection; its state must not reach the next user of the pool. With an error its users ask for another. */
  function end(connection: Connection, opening: Promise<Connection>, error?: Error): void {
    forget(opening)
    const { client, users, looking } = connection
    clearInterval(looking)
    client.removeAllListeners('notification').removeAllListeners('error')
    // A second error of a broken connection would be uncaught.
    client.on('error', () => {})
    const left = [...users]
    users.clear()
    try {
      client.release(true)
    } catch {
      // It was released before.
    }
    if (error) for (const user of left) user.emit('error', error)
  }

  return async () => {
    current ??= open()
    const opening = current
    const connection = await opening
    const listener = new Listener(
      connection,
      (error) => {
        if (connection.users.has(listener)) end(connection, opening, error)
      },
      (leaving) => {
        if (connection.users.delete(leaving) && connection.users.size === 0) end(connection, opening)
      },
    )
    connection.users.add(listener)
    return listener as unknown as PgPoolClient
  }
}
