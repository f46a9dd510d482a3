import { expect, it } from '@jest/globals'
import { oldestTaskId } from '../src/store/all-days.ts'
import { openDatabase } from '../src/store/database.ts'
import { firstTaskIdAt } from '../src/store/partitions.ts'
import { addApplication, useDatabase } from './setup.ts'

const DAY = 86_400_000
const db = useDatabase()

/** As a process that has just started: it has found no task before. */
async function firstSearch(): Promise<number> {
  const fresh = openDatabase(db.url, { max: 1 })
  return oldestTaskId(fresh).finally(() => fresh.close())
}

it('finds the oldest task of any day, also one of a coming day, from before a clock was set back', async () => {
  const appId = await addApplication(db)
  const addTask = async (at: number) => {
    const id = firstTaskIdAt(at)
    await db.pool.query(
      `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl)
       VALUES ($1, $2, 'accepted', '{"kind":"all"}', 'combined', '{}', '{}', 'normal', 100)`,
      [id, appId],
    )
    return id
  }
  expect(await firstSearch()).toBe(Number.POSITIVE_INFINITY)
  const now = Date.now()
  for (const at of [now + 3 * DAY, now, now - DAY]) {
    const added = await addTask(at)
    expect(await firstSearch()).toBe(added)
  }
})
