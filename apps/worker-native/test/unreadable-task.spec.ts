import { acceptPlan } from '@herald/testkit/accept-plan'
import { addApplication } from '@herald/testkit/sample-tenant'
import { useDatabase } from '@herald/testkit/use-database'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { createDelivery } from '../src/delivery.ts'
import { createInboxDrain } from '../src/inbox-drain.ts'
import { createTaskCache } from '../src/task-cache.ts'
import { createUnrecorded } from '../src/unrecorded.ts'

const db = useDatabase()
let app: string
beforeAll(async () => {
  app = await addApplication(db, 'unreadable')
})

let made = 0
async function devices(count: number): Promise<number[]> {
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, push_token, moved_at)
     SELECT $1, 'g' || n, 't' || n, now() - interval '1 hour' FROM generate_series($2::int, $3::int) n RETURNING id`,
    [app, made + 1, made + count],
  )
  made += count
  return rows.map(({ id }) => id)
}
const setAudience = (taskId: number, audience: object) =>
  db.pool.query('UPDATE task SET audience = $2 WHERE id = $1', [taskId, JSON.stringify(audience)])
const poison = (taskId: number) => setAudience(taskId, { kind: 'user_id', userIds: ['x'] })

/** What a gateway with connections to all devices writes, and the tasks that it could not read. */
function gateway() {
  const written: [device: number, task: number][] = []
  const told = new Set<number>()
  return {
    written,
    told,
    deps: {
      db,
      tasks: createTaskCache(db, ({ taskId }) => void told.add(taskId)),
      mayWrite: () => true,
      write(deviceId: number, taskId: number) {
        written.push([deviceId, taskId])
        return true
      },
    },
  }
}

describe('a task that cannot be read', () => {
  it('stays in the inbox, and the messages of other tasks are written', async () => {
    const [a, b, c] = (await devices(3)) as [number, number, number]
    const waiting = async (inbox: number[]) =>
      (await acceptPlan(db, app, { inbox }, { strategy: 'combined', ttl: 1000 })).taskId
    const [poisoned, empty, first, second] = [
      await waiting([a, c]),
      await waiting([c]),
      await waiting([a]),
      await waiting([b]),
    ]
    await poison(poisoned)
    await db.pool.query(`UPDATE task SET message = '{}' WHERE id = $1`, [empty])
    const { deps, written, told } = gateway()
    const inbox = createInboxDrain({
      ...deps,
      wasWritten: (device, task) => written.some(([d, t]) => d === device && t === task),
      unrecorded: createUnrecorded(),
      ackSeconds: 10,
      onSent() {},
    })
    // The device that has nothing else is not looked at again in a second.
    expect(await inbox.drain([a, b, c])).toEqual([a, b])
    expect(written).toEqual([
      [a, first],
      [b, second],
    ])
    expect([...told].sort()).toEqual([poisoned, empty])
    const unsent = await db.pool.query('SELECT DISTINCT task_id AS task FROM inbox WHERE sent_at IS NULL')
    expect(unsent.rows.map(({ task }) => task).sort()).toEqual([poisoned, empty])

    await setAudience(poisoned, { kind: 'all' })
    expect(await inbox.drain([a, b, c])).toEqual([a, c])
    expect(written.slice(2)).toEqual([
      [a, poisoned],
      [c, poisoned],
    ])
  })

  it('is skipped in a job, whose other batches are written and settled', async () => {
    const [device] = (await devices(1)) as [number]
    const accept = () =>
      acceptPlan(db, app, { batches: [{ channel: 'native', node: 'here', recipients: [device], tried: [] }] })
    const [poisoned, other] = [await accept(), await accept()]
    await poison(poisoned.taskId)
    const { deps, written, told } = gateway()
    const settled: number[] = []
    const delivery = createDelivery({
      ...deps,
      node: () => 'here',
      async settle(group) {
        for (const { batch } of group) settled.push(batch.taskId)
        return new Set(group)
      },
      record() {},
      onCounted() {},
      onFirstCall() {},
    })
    await delivery.run({ certificateIds: [], batches: [...poisoned.released, ...other.released] })
    expect([...told]).toEqual([poisoned.taskId])
    expect(written).toEqual([[device, other.taskId]])
    expect(settled).toEqual([other.taskId])
    const { rows } = await db.pool.query('SELECT state FROM batch WHERE task_id = $1', [poisoned.taskId])
    expect(rows).toEqual([{ state: 'sending' }])
  })
})
