import { createServer, type Server, type Socket } from 'node:net'
import { listen } from '@herald/testkit'
import { type TestDatabase, testDatabase } from '@herald/testkit/database'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type pg from 'pg'
import { SessionPool, sessionLimits } from '../src/index.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase({ migrated: false })
})
afterAll(() => database.drop())

const show = async (pool: pg.Pool, name: string) =>
  (await pool.query('SELECT current_setting($1) AS value', [name])).rows[0].value as string

describe('a session', () => {
  it('has the limits, the settings of its program, and those of its address', async () => {
    const address = new URL(database.url)
    address.searchParams.set('options', '-c statement_timeout=7s -c work_mem=5MB')
    const pool = new SessionPool({
      connectionString: address.href,
      settings: { plan_cache_mode: 'force_generic_plan' },
    })
    try {
      for (const [name, value] of Object.entries(sessionLimits))
        expect([name, await show(pool, name)]).toEqual([name, name === 'statement_timeout' ? '7s' : value])
      expect(await show(pool, 'plan_cache_mode')).toBe('force_generic_plan')
      expect(await show(pool, 'work_mem')).toBe('5MB')
    } finally {
      await pool.end()
    }
  })

  it.each([true, false])('prepares named statements: %s', async (prepare) => {
    const pool = new SessionPool({ connectionString: database.url, max: 1, prepare })
    try {
      const ask = () => pool.query({ name: 'one', text: 'SELECT $1::int AS n', values: [1] })
      expect([(await ask()).rows, (await ask()).rows]).toEqual([[{ n: 1 }], [{ n: 1 }]])
      const { rows } = await pool.query('SELECT name FROM pg_prepared_statements')
      expect(rows).toEqual(prepare ? [{ name: 'one' }] : [])
    } finally {
      await pool.end()
    }
  })

  it('that Postgres ends while it is used does not end the process', async () => {
    const pool = new SessionPool({ connectionString: database.url, max: 2 })
    pool.on('error', () => {})
    const client = await pool.connect()
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
    const ended = new Promise((resolve) => client.once('end', resolve))
    await pool.query('SELECT pg_terminate_backend($1)', [rows[0].pid])
    await ended
    client.release(true)
    await pool.end()
  })
})

/** Refuses the optional limit as a server on Windows does, and passes other sessions on. */
async function startRefusing(target: URL): Promise<{ server: Server; port: number }> {
  const field = (tag: string, text: string) => Buffer.from(`${tag}${text}\0`)
  const body = Buffer.concat([
    field('S', 'FATAL'),
    field('C', '22023'),
    field('M', 'invalid value for parameter "client_connection_check_interval": 5000'),
    Buffer.from([0]),
  ])
  const refusal = Buffer.concat([Buffer.from('E'), Buffer.alloc(4), body])
  refusal.writeInt32BE(body.length + 4, 1)
  const { connect } = await import('node:net')
  const server = createServer((inner: Socket) => {
    inner.on('error', () => {})
    inner.once('data', (startup) => {
      if (startup.includes('client_connection_check_interval')) {
        inner.end(refusal)
        return
      }
      const outer = connect(Number(target.port), target.hostname)
      outer.on('error', () => {})
      outer.write(startup)
      inner.pipe(outer).pipe(inner)
    })
  })
  return { server, port: await listen(server) }
}

/** The module under another address, so without its state: a refusal is remembered for the process. */
const freshSession = (name: string): Promise<typeof import('../src/session.ts')> =>
  import(`../src/session.ts?${name}`)

it('does without the limit that a server refuses', async () => {
  const { server, port } = await startRefusing(new URL(database.url))
  const address = Object.assign(new URL(database.url), { port: String(port) }).href
  try {
    const first = await freshSession('first')
    const pool = new first.SessionPool({ connectionString: address })
    expect(await show(pool, 'statement_timeout')).toBe('65s')
    expect(await show(pool, 'client_connection_check_interval')).toBe('0')
    await pool.end()
    const second = await freshSession('second')
    const client = await second.connectSession({ connectionString: address })
    expect((await client.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '65s' }])
    await client.end()
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
})
