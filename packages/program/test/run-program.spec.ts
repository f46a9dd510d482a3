import { createSealer, openDatabase, sharedKey } from '@herald/db/store'
import { startProcess } from '@herald/testkit'
import { type TestDatabase, testDatabase } from '@herald/testkit/database'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())

/** A program with one service, in which a timer of exactly 30 s, the limit of the drain, ends after `drainMs`. */
function program(service: string, drainMs = 120_000) {
  const source = `
    const real = globalThis.setTimeout
    const { runProgram } = await import(${JSON.stringify(import.meta.resolve('../src/index.ts'))})
    globalThis.setTimeout = (work, ms, ...rest) => real(work, ms === 30_000 ? ${drainMs} : ms, ...rest)
    await runProgram({ name: 'spec', needs: [], ${service} })`
  return startProcess(process.execPath, ['--input-type=module', '-e', source], {
    env: {
      DATABASE_URL: database.url,
      HERALD_MASTER_KEY: '0'.repeat(64),
      HERALD_METRICS_PORT: '0',
      HERALD_LOG_LEVEL: 'info',
    },
  })
}

describe('a program', () => {
  it('exits with 0 when work in flight has ended', async () => {
    const spec = program(`start: () => ({ stop: async () => console.log('stopped') })`)
    await spec.prints(/spec is running/)
    expect(await spec.stop('SIGTERM')).toEqual({ code: 0, signal: null })
    expect(spec.output()).toContain('stopped')
  })

  it('exits with 1 when it does not end within thirty seconds', async () => {
    const spec = program(`start: () => ({ stop: () => new Promise(() => {}) })`, 300)
    await spec.prints(/spec is running/)
    expect(await spec.stop('SIGTERM')).toEqual({ code: 1, signal: null })
    expect(spec.output()).toContain('spec did not drain within 30 s')
  })

  it('does not start with a master key that cannot decrypt the shared keys', async () => {
    const db = openDatabase(database.url)
    await sharedKey(db, createSealer(Buffer.alloc(32, 1)), 'push-token', () => 'key')
    const spec = program(`start: () => ({ stop: async () => {} })`)
    expect(await spec.exited).toEqual({ code: 1, signal: null })
    expect(spec.output()).toContain(
      'spec cannot start: A stored secret cannot be decrypted: HERALD_MASTER_KEY is not the key it was written with.',
    )
    await db.pool.query('DELETE FROM instance_key')
    await db.close()
  })

  it('exits with 1 when a service cannot continue', async () => {
    const spec = program(
      `start: ({ die }) => { setImmediate(die, 'it took nothing'); return { stop: async () => {} } }`,
    )
    expect(await spec.exited).toEqual({ code: 1, signal: null })
    expect(spec.output()).toContain('it took nothing')
  })

  it('ends other work first when a part of it cannot continue, even if a signal comes', async () => {
    const spec = program(
      `start: ({ die }) => {
        const work = new Promise((resolve) => process.once('SIGTERM', () => setImmediate(resolve)))
        setImmediate(die, 'one lane took nothing')
        return {
          async stop() {
            console.log('the other lane is working')
            await work
            console.log('the other lane has ended')
          },
        }
      }`,
    )
    await spec.prints(/the other lane is working/)
    expect(await spec.stop('SIGTERM')).toEqual({ code: 1, signal: null })
    expect(spec.output()).toContain('one lane took nothing')
    expect(spec.output()).toContain('the other lane has ended')
  })

  it('does not wait longer than thirty seconds for that work', async () => {
    const spec = program(
      `start: ({ die }) => { setImmediate(die, 'it took nothing'); return { stop: () => new Promise(() => {}) } }`,
      300,
    )
    expect(await spec.exited).toEqual({ code: 1, signal: null })
    expect(spec.output()).toContain('spec did not drain within 30 s')
  })
})
