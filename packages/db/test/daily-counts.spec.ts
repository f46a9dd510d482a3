import { noonZone, until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { describe, expect, it } from '@jest/globals'
import { claimBatches, countDaily, uncountDaily } from '../src/tasks/index.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase({ max: 4 })
const timeZone = noonZone()

/** Claims one batch for each list of devices. */
async function claim(...lists: number[][]) {
  const batches = lists.map((recipients) => ({
    channel: 'vivo' as const,
    certificateId: 1,
    recipients,
    tried: [],
  }))
  const { released } = await acceptPlan(db, 'app', { batches })
  const claimed = await claimBatches(
    db.pool,
    { channel: 'vivo', certificateIds: [1], batches: released },
    { seconds: 30, worker: 'w' },
  )
  return claimed.map((batch) => ({ ...batch, devices: batch.recipients }))
}

const refusedOf = async (batches: Awaited<ReturnType<typeof claim>>, max = 2) =>
  [...(await countDaily(db, 'vivo', batches, max, timeZone))].map(([at, devices]) => [at, [...devices]])

/** Days other than today in the vendor's time zone, for batches that are retried after midnight. */
const moveToYesterday = () => db.pool.query('UPDATE batch SET counted_on = counted_on - 1')

describe('messages per device and day', () => {
  it('refuses a device that has had them, and counts it no further', async () => {
    for (let i = 0; i < 2; i++) expect(await refusedOf(await claim([101, 102]))).toEqual([])
    expect(await refusedOf(await claim([101, 102, 103]))).toEqual([[0, [101, 102]]])
    // 103 has had one, not two.
    expect(await refusedOf(await claim([103]))).toEqual([])
    expect(await refusedOf(await claim([103]))).toEqual([[0, [103]]])
  })

  it('counts devices of several blocks and of several batches in one statement', async () => {
    const ids = [255, 256, 511, 512, 100_000]
    expect(await refusedOf(await claim(ids, ids, ids))).toEqual([[2, ids]])
  })

  it('counts a batch once per day, whatever the number of its attempts', async () => {
    const batches = await claim([201])
    for (let i = 0; i < 3; i++) expect(await refusedOf(batches)).toEqual([])
    expect(await refusedOf(await claim([201]))).toEqual([])
    expect(await refusedOf(await claim([201]))).toEqual([[0, [201]]])
  })

  it('counts a batch that is retried on the next day again', async () => {
    const batches = await claim([301])
    await refusedOf(batches, 1)
    await moveToYesterday()
    expect(await refusedOf(batches, 1)).toEqual([[0, [301]]])
  })

  it('takes back what the vendor did not take', async () => {
    const batches = await claim([401, 402])
    await refusedOf(batches, 1)
    await uncountDaily(db, 'vivo', [{ ...batches[0]!, devices: [402] }])
    expect(await refusedOf(await claim([401, 402]), 1)).toEqual([[0, [401]]])
  })

  it('takes back the counts of several batches in the same order as others', async () => {
    const [low, high] = [601, 100_601]
    const batches = await claim([low, high], [high], [low])
    await refusedOf(batches, 3)
    const [both, ofHigh, ofLow] = batches
    const statementsWaiting = (count: number) =>
      until(
        async () => {
          const { rows } = await db.pool.query(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          )
          return rows.length === count
        },
        { what: `${count} statements that wait` },
      )
    const other = await db.pool.connect()
    const uncounts: Promise<void>[] = []
    try {
      await other.query('BEGIN')
      await other.query('SELECT FROM daily_count WHERE block = $1 FOR UPDATE', [low >> 8])
      for (const some of [[both!], [ofHigh!, ofLow!]]) {
        uncounts.push(uncountDaily(db, 'vivo', some))
        await statementsWaiting(uncounts.length)
      }
    } finally {
      await other.query('COMMIT')
      other.release()
    }
    await Promise.all(uncounts)
    expect(await refusedOf(await claim([low, high]), 1)).toEqual([])
  })

  it('counts each channel apart', async () => {
    await refusedOf(await claim([501]), 1)
    const [batch] = await claim([501])
    expect(await countDaily(db, 'oppo', [batch!], 1, timeZone)).toEqual(new Map())
  })

  it('is exact when many batches with the same devices are counted at once', async () => {
    const ids = Array.from({ length: 600 }, (_, i) => 10_000 + i * 7)
    const lists = await claim(...Array.from({ length: 8 }, () => ids))
    const refused = await Promise.all(lists.map((batch) => refusedOf([batch], 3)))
    expect(refused.flat().reduce((sum, [, devices]) => sum + (devices as number[]).length, 0)).toBe(
      5 * ids.length,
    )
  })
})
