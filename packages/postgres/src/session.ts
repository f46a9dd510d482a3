import pg from 'pg'

type Settings = Readonly<Record<string, string>>

/**
 * Limits of every session, so that a host that vanished does not keep its locks: without them Linux ends its connections after
 * two hours. `statement_timeout` is longer than the time that our clients wait for a reply.
 */
export const sessionLimits: Settings = {
  idle_in_transaction_session_timeout: '15s',
  statement_timeout: '65s',
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  // While a reply is on its way, keepalives are not sent.
  tcp_user_timeout: '20000',
  client_connection_check_interval: '5s',
}

/** A server on Windows, and PostgreSQL 14 on macOS, cannot notice a closed connection during a statement. */
const OPTIONAL = 'client_connection_check_interval'
let isOptionalRefused = false

const isRefusal = (error: unknown) => Error.isError(error) && error.message.includes(OPTIONAL)

/** The address with settings as startup options. Those that it already has come last, so they take precedence. */
export function withSettings(url: string, settings: Settings): string {
  const address = new URL(url)
  const ours = Object.entries(settings)
    .filter(([name]) => !(isOptionalRefused && name === OPTIONAL))
    .map(([name, value]) => `-c ${name}=${value}`)
  const theirs = address.searchParams.get('options')
  address.searchParams.set('options', [...ours, ...(theirs ? [theirs] : [])].join(' '))
  return address.href
}

type SessionConfig = {
  connectionString: string
  /** Added to the limits, or instead of them. */
  settings?: Settings
  /** Whether named statements are prepared (default true). */
  prepare?: boolean
}

/** A connection with the limits of a session. */
class SessionClient extends pg.Client {
  constructor(config: pg.ClientConfig & SessionConfig) {
    const { connectionString, settings, prepare = true, ...rest } = config
    super({
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      ...rest,
      connectionString: withSettings(connectionString, { ...sessionLimits, ...settings }),
    })
    // Neither the pool nor our code listens at all times; without a listener the loss of a connection would crash the process.
    // Its user sees the loss with the next statement.
    this.on('error', () => {})
    if (!prepare) {
      const query = this.query.bind(this) as (statement: unknown, ...more: unknown[]) => unknown
      // Statements that send themselves, such as a COPY, stay as they are: the object made here has no methods.
      const isNamed = (statement: object) =>
        'name' in statement && 'text' in statement && !('submit' in statement)
      const unnamed = (statement: unknown) =>
        typeof statement === 'object' && statement !== null && isNamed(statement)
          ? { ...statement, name: undefined }
          : statement
      this.query = ((statement: unknown, ...more: unknown[]) =>
        query(unnamed(statement), ...more)) as typeof this.query
    }
  }
}

/** Connects; if the server refuses the optional limit, without it. */
export async function connectSession(config: pg.ClientConfig & SessionConfig): Promise<pg.Client> {
  const client = new SessionClient(config)
  try {
    await client.connect()
    return client
  } catch (error) {
    await client.end().catch(() => {})
    if (isOptionalRefused || !isRefusal(error)) throw error
    isOptionalRefused = true
    return connectSession(config)
  }
}

type Connected = (error: Error | undefined, client: pg.PoolClient | undefined, done: () => void) => void

/** A pool of such connections. */
export class SessionPool extends pg.Pool {
  constructor(config: pg.PoolConfig & SessionConfig) {
    super({ ...config, Client: SessionClient as unknown as pg.PoolConfig['Client'] })
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<pg.PoolClient> | undefined {
    // Also called by `query`, with a callback.
    if (!callback) {
      return super.connect().catch((error) => {
        if (!isRefusal(error)) throw error
        isOptionalRefused = true
        return super.connect()
      })
    }
    super.connect((error, client, done) => {
      if (!isRefusal(error)) return callback(error, client, done)
      isOptionalRefused = true
      super.connect(callback)
    })
    return undefined
  }
}
