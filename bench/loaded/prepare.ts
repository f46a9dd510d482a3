import { generateKeyPairSync } from 'node:crypto'
import { eachConcurrently } from '@herald/async'
import { closeCertificate, saveCertificate } from '@herald/db/certificates'
import { sumStats } from '@herald/db/history'
import { type Database, ensurePartitions, type Sealer } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'
import { sampleMessage } from '@herald/testkit/sample-message'
import pg from 'pg'
import { unlimited } from '../pipeline/deployment.ts'

/** How much a database holds before the figures are taken. */
export type Sizes = {
  /** Partitions of each partitioned table. */
  partitions: number
  applications: number
  /** Tasks that wait, in the shares of `waitingTasks`. */
  waiting: number
  /** Single pushes behind one closed certificate. */
  held: number
  /** Batches of one broadcast; the last of them have the devices whose receipts are measured. */
  batches: number
}

/** The broadcast whose receipts are measured. */
export const wide = {
  appId: 'wide',
  appSecret: 'secret-of-the-wide-application',
  /** Recipients of the last forty batches, which exist as devices. */
  devices: 40_000,
  pushToken: (n: number) => `wide-${n}`,
}
const WIDE_BATCH = 1_000
const REAL_BATCHES = wide.devices / WIDE_BATCH

/** As of an installation that was set up today. */
export const emptySizes: Sizes = {
  partitions: 0,
  applications: 0,
  waiting: 0,
  held: 0,
  batches: REAL_BATCHES,
}

/** As of a large installation that keeps data for more than a year. */
export const loadedSizes: Sizes = {
  partitions: 400,
  applications: 10_000,
  waiting: 1_000_000,
  held: 500_000,
  batches: 100_000,
}

/** Many days and nothing that waits: shows what the days alone cost. */
export const daysSizes: Sizes = { ...emptySizes, partitions: 400 }

/** Few days, and a fifth of what waits in the loaded database: shows what the rows alone cost. */
export const rowsSizes: Sizes = {
  partitions: 45,
  applications: 2_000,
  waiting: 200_000,
  held: 100_000,
  batches: 20_000,
}

/** Enough days for the oldest waiting task, few rows. */
export const smallSizes: Sizes = { partitions: 45, applications: 20, waiting: 1_000, held: 500, batches: 200 }

const DAY_MS = 86_400_000
/** Rows of one statement: a statement may take a minute. */
const CHUNK = 50_000
/** Device ids in the rows of waiting tasks. Nothing is sent to them; only those with a message in the inbox exist. */
const FIRST_MADE_UP_DEVICE = 1_000_000_000_000

/**
 * Fills a migrated database with what waits and what is kept. Rows are written by SQL, in minutes; applications and certificates as
 * the API writes them. Everything that depends on the schema of tasks is in this file.
 */
export async function prepare(
  db: Database,
  sealer: Sealer,
  sizes: Sizes,
  say: (sentence: string) => void = () => {},
): Promise<void> {
  const step = async (what: string, work: () => Promise<void>) => {
    const started = performance.now()
    await work()
    say(`${what}: ${((performance.now() - started) / 1000).toFixed(1)} s`)
  }
  await step(`${sizes.partitions} partitions per table`, () => addPartitions(db, sizes.partitions))
  await step(`${sizes.applications} applications`, () => addApplications(db, sealer, sizes.applications))
  await step(`${sizes.waiting} waiting tasks`, () => addWaitingTasks(db, sizes.waiting))
  await step(`${sizes.held} pushes behind a closed certificate`, () => addHeld(db, sealer, sizes.held))
  await step(`a broadcast of ${sizes.batches} batches`, () => addWideBroadcast(db, sealer, sizes.batches))
  // Without these the planner and autovacuum would do the same during the measurement; in use it is done as tasks are added.
  await step('sums of statistics', () => sumAll(db))
  await step('VACUUM ANALYZE', () => vacuum(db))
}

async function sumAll(db: Database): Promise<void> {
  for (let isDone = false; !isDone; ) {
    while (await sumStats(db));
    const { rows } = await db.pool.query<{ done: boolean }>('SELECT summed >= noted AS done FROM stat_head')
    isDone = rows[0]!.done
  }
}

/** Partitions exist from yesterday on; the missing ones are of the days before. Ends days before the first task id. */
async function addPartitions(db: Database, wanted: number): Promise<void> {
  await ensurePartitions(db)
  for (let at = Date.now(); (await partitionCount(db)) < wanted; at -= 9 * DAY_MS)
    await ensurePartitions(db, at)
}

/** Days with partitions, of the table with the fewest. Request ids have partitions by another key. */
export async function partitionCount(db: Database): Promise<number> {
  const { rows } = await db.pool.query<{ count: number }>(
    `SELECT min(count)::int AS count FROM (
       SELECT count(*) FROM pg_inherits i JOIN pg_partitioned_table p ON p.partrelid = i.inhparent
       WHERE p.partstrat = 'r' GROUP BY i.inhparent
     ) tables`,
  )
  return rows[0]!.count
}

/** The nth application, from 1. */
export const applicationId = (n: number) => `tenant-${n}`
export const applicationSecret = (n: number) => `secret-of-tenant-${n}`

/** Adds applications with an open APNs certificate each; benchmarks measure Herald, not the rates that vendors allow. */
export async function addApplications(db: Database, sealer: Sealer, count: number): Promise<void> {
  const key = newKey()
  const numbers = Array.from({ length: count }, (_, n) => n + 1)
  await eachConcurrently(numbers, 4, async (n) => {
    await addApplication(db, applicationId(n), applicationSecret(n))
    await addCertificate(db, sealer, applicationId(n), key)
  })
}

async function addApplication(db: Database, appId: string, appSecret?: string): Promise<void> {
  const made = await createApplication(db, {
    appId,
    appSecret,
    name: appId,
    packageName: 'com.example.tenant',
  })
  if (made === 'taken') throw new Error(`the application ${appId} exists already`)
}

function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** Returns the id of the certificate. */
async function addCertificate(db: Database, sealer: Sealer, appId: string, key: string): Promise<number> {
  const { id } = await saveCertificate(db, sealer, {
    application: appId,
    channel: 'apns',
    environment: 'production',
    name: 'apns',
    appId: 'com.example.tenant',
    appKey: 'BENCHKEY01',
    appSecret: 'BENCHTEAM1',
    certificate: key,
    extra: unlimited,
  })
  return id
}

type Waiting = {
  /** Share of the waiting tasks. */
  share: number
  /** The tasks were accepted within the last days; a task is kept open for at most 30 days. */
  days: number
  state: 'accepted' | 'sending'
  paused?: true
  /** When the task begins; by default when it was accepted. */
  beginAt?: string
  batch?: { state: 'ready' | 'held'; notBefore: string }
  inbox?: true
}

/** Tasks that wait, each for one device. Their numbers in this list are the lowest bits of their ids. */
const waitingTasks: readonly Waiting[] = [
  // Scheduled, up to 300 days ahead.
  { share: 0.4, days: 30, state: 'accepted', beginAt: `now() + make_interval(days => 1 + n % 300)` },
  { share: 0.2, days: 3, state: 'sending', paused: true, batch: { state: 'held', notBefore: 'now()' } },
  { share: 0.2, days: 14, state: 'sending', inbox: true },
  // Outside the hours in which the vendor takes messages of the class.
  {
    share: 0.2,
    days: 3,
    state: 'sending',
    batch: { state: 'ready', notBefore: `now() + interval '8 hours'` },
  },
]
const HELD = waitingTasks.length
const WIDE = HELD + 1

async function addWaitingTasks(db: Database, count: number): Promise<void> {
  const { rows } = await db.pool.query<{ app: string; certificate: number }>(
    `SELECT app_id AS app, id AS certificate FROM certificate WHERE app_id LIKE 'tenant-%' ORDER BY id`,
  )
  for (const [number, waiting] of waitingTasks.entries())
    await addTasks(db, number, waiting, Math.round(count * waiting.share), rows)
}

async function addHeld(db: Database, sealer: Sealer, count: number): Promise<void> {
  if (count === 0) return
  await addApplication(db, 'closed')
  const certificate = await addCertificate(db, sealer, 'closed', newKey())
  // Never probed: the sinks of the benchmarks accept everything, so a probe would open it.
  const refusal = { code: 'apns.InvalidProviderToken', text: 'the vendor refused the credential' }
  await closeCertificate(db, certificate, refusal, { probed: false })
  const held: Waiting = {
    share: 1,
    days: 3,
    state: 'sending',
    batch: { state: 'ready', notBefore: `'infinity'` },
  }
  await addTasks(db, HELD, held, count, [{ app: 'closed', certificate }])
}

/** The longest time to live, in seconds. */
const TTL = 2_592_000

/** A task id as drawn at this time; `low` makes the ids of different kinds of tasks differ. */
const taskIdAt = (at: string, low: number) =>
  `((extract(epoch FROM ${at}) * 1000)::bigint - 1735689600000) * 4096 + ${low}`

/** Inserts tasks for one device each, of the applications in turn, with the rows that accepting them writes. */
async function addTasks(
  db: Database,
  number: number,
  waiting: Waiting,
  count: number,
  of: readonly { app: string; certificate: number }[],
): Promise<void> {
  if (of.length === 0) return
  const { state, paused = false, beginAt = 'at', batch, inbox } = waiting
  const channel = inbox ? 'native' : 'apns'
  const audience = JSON.stringify({ kind: 'alias', aliases: ['someone'] })
  const message = JSON.stringify(sampleMessage())
  for (let from = 1; from <= count; from += CHUNK)
    await inTransaction(db, async (query) => {
      await query(
        `CREATE TEMPORARY TABLE made ON COMMIT DROP AS
         SELECT ${taskIdAt('at', number)} AS id, at, begin_at, begin_at + make_interval(secs => ${TTL}) AS deadline, app_id,
           certificate_id, ${FIRST_MADE_UP_DEVICE} + n AS device_id
         FROM generate_series($1::int, $2::int) n
         CROSS JOIN LATERAL (SELECT now() - interval '1 hour' - make_interval(secs => n * $3::float8) AS at) accepted
         CROSS JOIN LATERAL (SELECT ${beginAt} AS begin_at) begun
         JOIN unnest($4::text[], $5::bigint[]) WITH ORDINALITY AS a (app_id, certificate_id, place)
           ON a.place = 1 + n % cardinality($4::text[])`,
        [
          from,
          Math.min(count, from + CHUNK - 1),
          (waiting.days * 86_400) / count,
          of.map(({ app }) => app),
          of.map(({ certificate }) => certificate),
        ],
      )
      await query(
        `INSERT INTO task (id, app_id, state, paused, audience, strategy, sequence, message, lane, ttl, begin_at, deadline, planned_at,
           speed_at, created_at, finished_at, wide)
         SELECT id, app_id, $1, $2, $3, 'combined', '{}', $4, 'high', ${TTL}, begin_at,
           CASE $1 WHEN 'sending' THEN deadline END, CASE $1 WHEN 'sending' THEN at END, at, at, CASE WHEN $5::boolean THEN at END, false FROM made`,
        // A task of which only a message in an inbox is left is shown as finished.
        [state, paused, audience, message, inbox ?? false],
      )
      if (state === 'sending')
        await query(`INSERT INTO counter (task_id, channel, target, ranged) SELECT id, $1, 1, 1 FROM made`, [
          channel,
        ])
      if (batch)
        await query(
          `INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, not_before, deadline,
             planned_at)
           SELECT id, app_id, $1, certificate_id, 'high', $2, 1, ARRAY[device_id], '.', ${batch.notBefore}, deadline, at FROM made`,
          [channel, batch.state],
        )
      if (inbox) {
        // The planner empties the inboxes of devices that do not exist.
        await query(
          `INSERT INTO device (id, app_id, guid, push_token_hash, platform, moved_at)
           SELECT device_id, app_id, 'g' || device_id, push_token_hash('waiting-' || device_id), 'android', at FROM made`,
        )
        await query(
          `INSERT INTO inbox (task_id, device_id, app_id, expires_at, planned_at)
           SELECT id, device_id, app_id, deadline, at FROM made`,
        )
      }
    })
}

/**
 * A broadcast that was paused before its end: the first tenth of its batches waits (none if all are those of `wide`), the others are settled. The last batches
 * have the devices of `wide`, a thousand each; the others have ten made-up recipients within as wide a range of ids.
 */
async function addWideBroadcast(db: Database, sealer: Sealer, batches: number): Promise<void> {
  await addApplication(db, wide.appId, wide.appSecret)
  const certificate = await addCertificate(db, sealer, wide.appId, newKey())
  const sent = Math.max(REAL_BATCHES, Math.ceil(batches * 0.9))
  // Room for the ids of the recipients before the first device.
  await db.pool.query(`SELECT setval(pg_get_serial_sequence('device', 'id'), 1000000000)`)
  await db.pool.query(
    `INSERT INTO device (app_id, guid, push_token_hash, platform, moved_at)
     SELECT $1, 'g' || n, push_token_hash('${wide.pushToken(0).slice(0, -1)}' || n), 'ios', now() - interval '1 hour'
     FROM generate_series(1, $2::int) n`,
    [wide.appId, wide.devices],
  )
  const first = await db.pool.query<{ id: number }>('SELECT min(id) AS id FROM device WHERE app_id = $1', [
    wide.appId,
  ])
  const task = await db.pool.query<{ id: number }>(
    `INSERT INTO task (id, app_id, state, paused, audience, strategy, sequence, message, lane, ttl, begin_at, deadline, planned_at, speed_at)
     SELECT ${taskIdAt("now() - interval '1 hour'", WIDE)}, $1, 'sending', $2, '{"kind":"all"}', 'ospush_only', '{}', $3, 'normal', ${TTL},
       now() - interval '1 hour', now() + make_interval(secs => ${TTL - 3600}), now(), now()
     RETURNING id`,
    [wide.appId, sent < batches, JSON.stringify(sampleMessage())],
  )
  const taskId = task.rows[0]!.id
  for (let from = 1; from <= batches; from += CHUNK)
    await db.pool.query(
      `INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline)
       SELECT $1, $2, 'apns', $3, 'normal', CASE WHEN is_sent THEN 'settled' ELSE 'held' END, cardinality(ids), ids,
         repeat(CASE WHEN is_sent THEN 's' ELSE '.' END, cardinality(ids)), now() + make_interval(secs => ${TTL - 3600})
       FROM generate_series($4::int, $5::int) n
       CROSS JOIN LATERAL (
         SELECT n > $6::int - $7::int AS is_sent, $8::bigint + (n - 1 - $6::int + ${REAL_BATCHES}) * ${WIDE_BATCH} AS lo
       ) placed
       CROSS JOIN LATERAL (
         SELECT ARRAY(SELECT id FROM generate_series(lo, lo + ${WIDE_BATCH - 1},
           CASE WHEN n > $6::int - ${REAL_BATCHES} THEN 1 ELSE ${WIDE_BATCH / 10} END) id) AS ids
       ) listed`,
      [
        taskId,
        wide.appId,
        certificate,
        from,
        Math.min(batches, from + CHUNK - 1),
        batches,
        sent,
        first.rows[0]!.id,
      ],
    )
  await db.pool.query(
    `INSERT INTO counter (task_id, channel, target, ranged, spread, sent)
     SELECT task_id, channel, sum(size), sum(size), max(hi - lo), coalesce(sum(size) FILTER (WHERE state = 'settled'), 0)
     FROM batch WHERE task_id = $1 GROUP BY 1, 2`,
    [taskId],
  )
}

/** Returns the broadcast of `wide`. */
export async function wideTask(db: Database): Promise<number> {
  const { rows } = await db.pool.query<{ id: number }>('SELECT id FROM task WHERE app_id = $1', [wide.appId])
  return rows[0]!.id
}

/** Without a limit of time for one statement, which all of Herald's own sessions have. */
async function vacuum(db: Database): Promise<void> {
  const client = new pg.Client(db.url)
  await client.connect()
  try {
    await client.query('SET statement_timeout = 0')
    await client.query('VACUUM (FREEZE, ANALYZE)')
    await client.query('CHECKPOINT')
  } finally {
    await client.end()
  }
}

type Query = (sql: string, values?: unknown[]) => Promise<unknown>

async function inTransaction(db: Database, work: (query: Query) => Promise<void>): Promise<void> {
  const client = await db.pool.connect()
  try {
    await client.query('BEGIN')
    await work((sql, values) => client.query(sql, values))
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}
