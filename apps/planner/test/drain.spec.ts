import { startApp, until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Machine, startMachine } from './machine.ts'

describe('SIGTERM while a vendor hangs', () => {
  let machine: Machine
  beforeAll(async () => {
    machine = await startMachine()
  })
  afterAll(() => machine.stop())

  it('ends within thirty seconds, with everything it knows written down and nothing left under lease', async () => {
    const app = await machine.addApplication('hanging')
    await machine.addDevices(app, [
      { tokens: { xiaomi: 'a:hang,accepted' } },
      { tokens: { huawei: 'b:accepted' } },
    ])
    const worker = startApp(
      'bench/chaos/stub-worker.ts',
      {
        DATABASE_URL: machine.db.url,
        QUEUE_URL: machine.db.url,
        HERALD_MASTER_KEY: Buffer.from(machine.settings.masterKey!).toString('hex'),
        HERALD_METRICS_PORT: '0',
        // Four times as long as a whole drain may take: xiaomi is one call a batch here.
        HERALD_SEND_TIMEOUT_SECONDS: '30',
      },
      [machine.stub.url],
    )
    const task = await machine.notify(app)
    await until(async () => (await machine.counters(task)).huawei?.sent === 1, {
      seconds: 60,
      what: 'the vendor that answers',
    })
    await until(async () => (await machine.ledger(task)).some(({ channel }) => channel === 'xiaomi'), {
      seconds: 20,
      what: 'the call that hangs',
    })
    const began = Date.now()
    expect(await worker.stop()).toEqual({ code: 0, signal: null })
    expect(Date.now() - began).toBeLessThan(30_000)
    const { rows } = await machine.db.pool.query(
      `SELECT channel, state FROM batch WHERE task_id = $1 ORDER BY channel`,
      [task],
    )
    expect(rows).toEqual([
      { channel: 'huawei', state: 'settled' },
      { channel: 'xiaomi', state: 'ready' },
    ])
    expect(await machine.imbalances()).toEqual([])
  }, 120_000)
})
