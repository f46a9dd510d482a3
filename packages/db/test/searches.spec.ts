import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { expireInbox } from '../src/ledger/index.ts'
import { fallBackDue } from '../src/native/index.ts'
import { type Database, ensurePartitions } from '../src/store/index.ts'
import {
  certificatesToWake,
  checkLateTasks,
  findDueWork,
  finishTasks,
  leaseTime,
  planPage,
  readyCertificates,
  readyNodes,
  reclaimExpiredLeases,
  releaseReady,
  settleEnded,
  takeDueTasks,
  walkOpenTasks,
} from '../src/tasks/index.ts'
import { blocksRead } from './blocks-read.ts'
import { addApplication, addCertificate, stopAutovacuum, useDatabase } from './setup.ts'

const DAY = 86_400_000
/** Days with rows; the partitions of the coming week are empty. */
const DAYS = 4

const db = useDatabase()
let app: string
let certificateId: number
beforeAll(async () => {
  app = await addApplication(db)
  certificateId = await addCertificate(db, app, 'fcm')
  await ensurePartitions(db, Date.now() - DAYS * DAY)
  await stopAutovacuum(db, 'task', 'batch', 'inbox')
})
afterEach(() => db.pool.query('TRUNCATE task, batch, counter, inbox, slice, begin_lease, task_check'))

/** `count` tasks on each of the last days. */
async function addTasks(count: number, state: string, columns: Record<string, string> = {}): Promise<void> {
  const extra = Object.keys(columns)
  await db.pool.query(
    `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, deadline ${extra.map((c) => `, ${c}`).join('')})
     SELECT next_task_id() - day * ${DAY * 4096}::bigint, $1, $2, '{"kind":"all"}', 'combined', '{}', '{}', 'normal', 100, now() + interval '1 day'
       ${extra.map((c) => `, ${columns[c]}`).join('')}
     FROM generate_series(0, ${DAYS - 1}) day, generate_series(1, $3::int) n`,
    [app, state, count],
  )
}

/** `count` tasks with one batch each on each of the last days. */
async function addBatches(count: number, state: string, columns: Record<string, string> = {}): Promise<void> {
  await addTasks(count, 'sending', state === 'paced' ? { speed: '10' } : {})
  const extra = Object.keys(columns)
  await db.pool.query(
    `INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline ${extra.map((c) => `, ${c}`).join('')})
     SELECT id, app_id, 'fcm', $1, lane, $2, 1, '{1}', '.', now() + interval '1 day' ${extra.map((c) => `, ${columns[c]}`).join('')}
     FROM (SELECT *, row_number() OVER () AS n FROM task) t WHERE NOT EXISTS (SELECT 1 FROM batch b WHERE b.task_id = t.id)`,
    [certificateId, state],
  )
}

async function addInbox(count: number, columns: Record<string, string>): Promise<void> {
  await addTasks(count, 'sending')
  const extra = Object.keys(columns)
  await db.pool.query(
    `INSERT INTO inbox (task_id, device_id, app_id ${extra.map((c) => `, ${c}`).join('')})
     SELECT id, 1, app_id ${extra.map((c) => `, ${columns[c]}`).join('')}
     FROM task t WHERE NOT EXISTS (SELECT 1 FROM inbox b WHERE b.task_id = t.id)`,
  )
}

const soon = `now() + interval '1 hour'`
const ago = `now() - interval '1 hour'`
const take = (on: Database) => takeDueTasks(on, { lane: 'normal', after: '', max: 64, except: [] })
const release = (on: Database) => releaseReady(on, { certificateId }, { recipients: 20_000, batches: 10 })
async function feed(on: Database) {
  await readyCertificates(on, 0)
  await readyNodes(on)
  await release(on)
  await certificatesToWake(on, 0)
}
async function sweep(on: Database) {
  await findDueWork(on)
  await settleEnded(on)
  await finishTasks(on)
  await walkOpenTasks(on, 0)
  await checkLateTasks(on)
  await reclaimExpiredLeases(on, await leaseTime(on))
}
const plan = (on: Database) => planPage(on, { lane: 'normal', after: '', except: [] }, async () => undefined)

const cases: [string, (count: number) => Promise<void>, (on: Database) => Promise<unknown>][] = [
  [
    'due tasks',
    (n) => addTasks(n, 'accepted', { begin_at: ago }),
    async (on) => [await findDueWork(on), await take(on)],
  ],
  [
    'scheduled tasks',
    (n) => addTasks(n, 'accepted', { begin_at: soon }),
    async (on) => [await sweep(on), await take(on)],
  ],
  [
    'broadcasts',
    async (n) => {
      await addTasks(n, 'planning', { begin_at: ago })
      await db.pool.query(
        'INSERT INTO slice (task_id, no, hi, cursor, width) SELECT id, 1, 9, 1, 100 FROM task ON CONFLICT DO NOTHING',
      )
    },
    plan,
  ],
  [
    'due batches',
    (n) => addBatches(n, 'ready', { not_before: ago }),
    async (on) => [await feed(on), await sweep(on)],
  ],
  [
    'batches that are retried later',
    (n) => addBatches(n, 'ready', { not_before: soon }),
    async (on) => [await feed(on), await sweep(on)],
  ],
  [
    'batches that wait for a certificate',
    (n) => addBatches(n, 'ready', { not_before: `'infinity'` }),
    async (on) => [await feed(on), await sweep(on)],
  ],
  [
    'held batches',
    (n) => addBatches(n, 'held', { not_before: ago }),
    async (on) => [await feed(on), await sweep(on)],
  ],
  [
    'messages that have expired',
    (n) => addInbox(n, { expires_at: ago }),
    async (on) => [await findDueWork(on), await expireInbox(on, 10)],
  ],
  [
    'messages that fall back',
    (n) => addInbox(n, { expires_at: soon, fallback_at: ago }),
    async (on) => [await findDueWork(on), await fallBackDue(on, 10, async () => undefined)],
  ],
  [
    'messages in inboxes',
    (n) => addInbox(n, { expires_at: soon, fallback_at: soon }),
    async (on) => [
      await sweep(on),
      await expireInbox(on, 10),
      await fallBackDue(on, 10, async () => undefined),
    ],
  ],
]

describe('a search does not become more expensive', () => {
  it.each(cases)('with many %s, whether the statistics know of them or not', async (_, add, work) => {
    const analyse = () => db.pool.query('ANALYZE task, batch, inbox, slice')
    const measure = async (enough?: Record<string, number>) => {
      await db.pool.query('DELETE FROM begin_lease; UPDATE slice SET planning_until = NULL')
      return blocksRead(db, work, { enough })
    }
    await analyse()
    await add(20)
    const few = await measure()
    const enough = Object.fromEntries(Object.entries(few).map(([name, blocks]) => [name, blocks + 150]))
    await add(5000)
    const unknown = await measure(enough)
    await analyse()
    const known = await measure(enough)
    for (const many of [unknown, known]) {
      const more = Object.entries(many).filter(([name, blocks]) => blocks > enough[name]!)
      expect(more.map(([name, blocks]) => [name, few[name], blocks])).toEqual([])
    }
  })
})
