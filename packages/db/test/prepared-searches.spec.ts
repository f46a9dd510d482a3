import { beforeAll, describe, expect, it } from '@jest/globals'
import { expireInbox } from '../src/ledger/index.ts'
import { type Database, ensurePartitions } from '../src/store/index.ts'
import { certificatesToWake, readyCertificates } from '../src/tasks/index.ts'
import { blocksRead, vacuumAnalyze } from './blocks-read.ts'
import { addApplication, useDatabase } from './setup.ts'

const DAY = 86_400_000
const DAYS = 10

/** The plan of a prepared statement does not depend on its values, and the searches of the planner have no sorts (`beginSearch`). */
describe('a prepared search', () => {
  const db = useDatabase()
  let app: string
  beforeAll(async () => {
    app = await addApplication(db)
    await ensurePartitions(db, Date.now() - (DAYS - 1) * DAY)
  })

  /** `count` messages that wait, of as many tasks, on each of the last days. */
  async function addInbox(count: number): Promise<void> {
    const added = await db.pool.query(
      `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, deadline)
       SELECT next_task_id() - day * ${DAY * 4096}::bigint, $1, 'sending', '{"kind":"all"}', 'combined', '{}', '{}', 'normal', 100,
         now() + interval '1 day'
       FROM generate_series(0, ${DAYS - 1}) day, generate_series(1, $2::int) n RETURNING id`,
      [app, count],
    )
    await db.pool.query(
      `INSERT INTO inbox (task_id, device_id, app_id, expires_at)
       SELECT id, 1, $1, now() + interval '1 day' FROM unnest($2::bigint[]) AS t (id)`,
      [app, added.rows.map(({ id }) => id)],
    )
    await db.pool.query('ANALYZE task, inbox')
  }

  it('for messages that have expired reads no task if there are none', async () => {
    const expire = (on: Database) => expireInbox(on, 1000)
    const cost = async () => (await blocksRead(db, expire, { prepared: true }))['expire-inbox']!
    await addInbox(10)
    const few = await cost()
    await addInbox(1000)
    expect(await cost()).toBeLessThanOrEqual(few + 50)
  })

  it('for certificates with due batches looks once at one whose batches wait, twice if it may have some of the lane normal', async () => {
    const cost = async (lane: string) => {
      await db.pool.query('TRUNCATE batch')
      await db.pool.query(
        `INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, not_before, deadline)
         SELECT next_task_id(), $1, 'fcm', n, $2, 'ready', 1, '{1}', '.', now() + interval '1 hour', now() + interval '1 day'
         FROM generate_series(1, 400) n`,
        [app, lane],
      )
      await vacuumAnalyze(db, 'batch')
      const looks = async (on: Database) => [await readyCertificates(on, 0), await certificatesToWake(on, 0)]
      const blocks = await blocksRead(db, looks, { prepared: true })
      await db.pool.query(`INSERT INTO late_index VALUES ('batch_asleep', 'batch', '')`)
      const searched = await blocksRead(db, looks, { prepared: true })
      await db.pool.query('DELETE FROM late_index')
      return {
        due: blocks['ready-certificates']!,
        asleep: blocks['certificates-to-wake']!,
        searched: searched['search-certificates-to-wake']!,
      }
    }
    const [once, twice] = [await cost('normal'), await cost('high')]
    expect(once.due).toBeLessThan(twice.due - 400)
    // Until its index is complete the other search looks at the same certificates, at their state and at both lanes.
    expect(twice.due).toBeLessThan(twice.searched)
    expect(twice.asleep).toBeLessThan(50)
    await db.pool.query(
      `UPDATE batch SET not_before = now() WHERE certificate_id IN (20, 30);
       UPDATE batch SET lane = 'normal', not_before = 'infinity' WHERE certificate_id = 40;
       INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline)
       SELECT next_task_id(), app_id, 'fcm', 50, 'normal', 'ready', 1, '{1}', '.', deadline FROM batch LIMIT 1`,
    )
    expect(await readyCertificates(db, 20)).toEqual({ found: [30, 50], next: undefined })
  })
})
