import { startApp, until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Harness, startHarness } from './harness.ts'

describe('SIGTERM while a vendor hangs', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness()
  })
  afterAll(() => harness.stop())

  it('ends within thirty seconds, with all results written and no lease left', async () => {
    const app = await harness.addApplication('hanging')
    await harness.addDevices(app, [
      { tokens: { xiaomi: 'a:hang,accepted' } },
      { tokens: { huawei: 'b:accepted' } },
    ])
    const worker = startApp(
      'bench/chaos/stub-worker.ts',
      {
        DATABASE_URL: harness.db.url,
        QUEUE_URL: harness.db.url,
        HERALD_MASTER_KEY: Buffer.from(harness.settings.masterKey!).toString('hex'),
        HERALD_METRICS_PORT: '0',
        // Four times the limit of a drain: a xiaomi batch is one call here.
        HERALD_SEND_TIMEOUT_SECONDS: '30',
      },
      [harness.stub.url],
    )
    const task = await harness.notify(app)
    await until(async () => (await harness.counters(task)).huawei?.sent === 1, {
      what: 'the vendor that answers',
    })
    await until(async () => (await harness.ledger(task)).some(({ channel }) => channel === 'xiaomi'), {
      what: 'the call that hangs',
    })
    // The program ends itself with code 1 after thirty seconds.
    expect(await worker.stop()).toEqual({ code: 0, signal: null })
    expect(worker.output()).not.toContain('did not drain')
    const { rows } = await harness.db.pool.query(
      `SELECT channel, state FROM batch WHERE task_id = $1 ORDER BY channel`,
      [task],
    )
    expect(rows).toEqual([
      { channel: 'huawei', state: 'settled' },
      { channel: 'xiaomi', state: 'ready' },
    ])
    expect(await harness.imbalances()).toEqual([])
  })
})
