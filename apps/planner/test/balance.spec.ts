import { startApp } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Machine, startMachine } from './machine.ts'

describe('the balance program', () => {
  let machine: Machine
  beforeAll(async () => {
    machine = await startMachine()
    const app = await machine.addApplication('books')
    await machine.addDevices(app, [{ tokens: { xiaomi: 'a:accepted' } }, { tokens: { oppo: 'b:accepted' } }])
    await machine.notify(app)
  })
  afterAll(() => machine.stop())

  const balance = async () => {
    const program = startApp('apps/planner/src/balance.ts', { DATABASE_URL: machine.db.url })
    const { code } = await program.exited
    return { code, output: program.output() }
  }

  it('says what the books hold when they balance', async () => {
    expect(await balance()).toEqual({
      code: 0,
      output: 'balanced: 1 tasks, 2 counter rows, 2 targets, 2 of them pending\n',
    })
  })

  it('prints the rows that do not, and exits with 1', async () => {
    await machine.db.pool.query(`UPDATE counter SET sent = sent + 1 WHERE channel = 'oppo'`)
    const { code, output } = await balance()
    expect(code).toBe(1)
    expect(output).toMatch(/"channel":"oppo","target":1,"sent":1,.*"pending":1/)
    expect(output).toMatch(/out of balance: 1 rows\n$/)
  })

  it('says in one sentence that it cannot read them', async () => {
    const program = startApp('apps/planner/src/balance.ts', { DATABASE_URL: 'postgres://127.0.0.1:1/none' })
    expect((await program.exited).code).toBe(1)
    expect(program.output()).toMatch(/^The balance cannot be read: .*\n$/)
  })
})
