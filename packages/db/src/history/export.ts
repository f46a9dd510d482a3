import { type Channel, publicName, toJson } from '@herald/domain'
import type pg from 'pg'
import { countersSql, memberSql } from '../ledger/bundled-tasks.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin, textWithin } from '../store/days.ts'
import { indexesOnly } from '../store/statement.ts'
import { inScopeSql, type TaskScope } from '../tasks/tasks.ts'
import {
  type BatchLines,
  type ChannelSums,
  counted,
  lineOf,
  linesOfBatch,
  type Sums,
  sumsOf,
} from './export-lines.ts'
import { foldPath, type Place, type TaskFacts } from './path.ts'
import { ms, type PlaceRow, placeOf, whysAtSql } from './places.ts'

/** Lines that are in memory at once, twice: those being written, and those that Postgres sends in the same time. */
const LINES_PER_PART = 16_000
const MAX_FETCH = 4000

/** The caller may read slowly. Longer than the HTTP server lets it pause; the limit of other sessions would end the transaction. */
const MAX_PAUSE = '5min'

/**
 * Reads the result of a task for every device, as lines of JSON in parts: one line per device and channel, of one snapshot; the last line has
 * the sums of the lines and the counters of that snapshot. Constant memory. Holds a connection until it has been read or is returned.
 * Undefined if the task is unknown.
 */
export async function exportTask(
  db: Database,
  scope: TaskScope,
  taskId: number,
): Promise<AsyncGenerator<string, void> | undefined> {
  const client = await db.pool.connect()
  let broken: Error | undefined
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  const end = async () => {
    await client.query('ROLLBACK').catch(onError)
    client.off('error', onError)
    client.release(broken)
  }
  try {
    await client.query(
      `${indexesOnly}; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL jit = off;
       SET LOCAL idle_in_transaction_session_timeout = '${MAX_PAUSE}'`,
    )
    const task = await readTask(client, scope, taskId)
    if (!task) {
      await end()
      return undefined
    }
    return parts(client, taskId, task, end)
  } catch (error) {
    await end()
    throw error
  }
}

type ExportedTask = TaskFacts & { counters: ChannelSums }

async function readTask(
  client: pg.PoolClient,
  scope: TaskScope,
  taskId: number,
): Promise<ExportedTask | undefined> {
  const names = counted.filter((name) => name !== 'pending')
  const rows = await runWithin<[boolean, Channel | null, ...number[]]>(
    client,
    daysOf([taskId]),
    'export-task',
    `SELECT t.paused, c.channel, ${names.map((name) => `sum(c.${name})::bigint`).join(', ')} FROM task t ${memberSql('t')}
     LEFT JOIN LATERAL (${countersSql('t')}) c ON true
     WHERE t.id = $1 AND ${inDays('t.id')} AND ${inScopeSql('t', '$2', '$3')} GROUP BY 1, 2`,
    [taskId, scope.appId, scope.groupId ?? null],
  )
  if (rows.length === 0) return undefined
  const counters: ChannelSums = {}
  for (const [, channel, ...values] of rows) {
    if (channel === null) continue
    const sums = sumsOf(counters, publicName(channel))
    names.forEach((name, i) => {
      sums[name] = values[i]!
    })
    sums.pending = sums.target - sums.sent - sums.failed - sums.moved - sums.expired - sums.cancelled
  }
  return { paused: rows[0]![0], counters }
}

async function* parts(
  client: pg.PoolClient,
  taskId: number,
  task: ExportedTask,
  end: () => Promise<void>,
): AsyncGenerator<string, void> {
  try {
    const sums: ChannelSums = {}
    const { [publicName('native')]: native, ...vendors } = task.counters
    if (Object.keys(vendors).length > 0) {
      const isReceived = Object.values(vendors).some(({ received }) => received > 0)
      yield* bundledLine(client, taskId, task, sums)
      yield* vendorLines(client, taskId, task, sums, isReceived)
    }
    if (native) yield* nativeLines(client, taskId, task, sums)
    const lines = Object.values(sums).reduce((all, { target }) => all + target, 0)
    yield `${toJson({ sums, counters: task.counters, equal: isEqual(sums, task.counters), lines })}\n`
  } finally {
    await end()
  }
}

function isEqual(a: ChannelSums, b: ChannelSums): boolean {
  const none = Object.fromEntries(counted.map((name) => [name, 0])) as Sums
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((channel) =>
    counted.every((name) => (a[channel] ?? none)[name] === (b[channel] ?? none)[name]),
  )
}

/** Reads a cursor in parts of about LINES_PER_PART lines; Postgres prepares the next part while one is used. */
async function* readCursor<Row extends unknown[]>(
  client: pg.PoolClient,
  sql: string,
  linesOf: (row: Row) => number,
): AsyncGenerator<Row[], void> {
  await client.query(`DECLARE part NO SCROLL CURSOR FOR ${sql}`)
  const fetch = (count: number) => {
    const next = client.query<Row>({ text: `FETCH ${count} FROM part`, rowMode: 'array' })
    // If the reader stops, nobody waits for it.
    next.catch(() => {})
    return next
  }
  let next = fetch(16)
  for (;;) {
    const { rows } = await next
    if (rows.length === 0) break
    const lines = rows.reduce((sum, row) => sum + linesOf(row), 0)
    next = fetch(Math.max(1, Math.min(MAX_FETCH, Math.floor((LINES_PER_PART * rows.length) / lines))))
    yield rows
  }
  await client.query('CLOSE part')
}

type NameRow = [guid: string | null, userId: string | null, alias: string | null]
const nameColumns = 'd.guid, d.user_id::text, d.alias'

/** The task of a bundle has no batch. */
async function* bundledLine(
  client: pg.PoolClient,
  taskId: number,
  task: ExportedTask,
  sums: ChannelSums,
): AsyncGenerator<string, void> {
  const rows = await runWithin<
    [number, Channel, string, number | null, number | null, number | null, ...NameRow]
  >(
    client,
    daysOf([taskId]),
    'export-bundled',
    `SELECT m.device_id, m.channel, m.letter, ${ms('m.settled_at')}, ${ms('r.received_at')}, ${ms('r.clicked_at')}, ${nameColumns}
     FROM task t ${memberSql('t')} LEFT JOIN device d ON d.id = m.device_id
     LEFT JOIN receipt r ON r.task_id = t.id AND ${inDays('r.task_id')} AND r.device_id = m.device_id
     WHERE t.id = $1 AND ${inDays('t.id')} AND m.letter IS NOT NULL`,
    [taskId],
  )
  for (const [deviceId, channel, letter, at, receivedAt, clickedAt, guid, userId, alias] of rows) {
    const place: Place = {
      kind: 'bundle',
      id: 0,
      channel,
      letter,
      state: 'released',
      at: letter === 's' ? at : null,
      notBefore: null,
      afterNative: false,
      whys: [],
    }
    const [step] = foldPath([place], task).path
    yield lineOf({ deviceId, guid, userId, alias }, step!, { receivedAt, clickedAt }, sums)
  }
}

type BatchRow = [
  channel: Channel,
  state: string,
  status: string,
  at: number | null,
  whys: BatchLines['whys'] | null,
  recipients: string,
  guids: string,
  users: string,
  aliases: string,
  receipts: string | null,
]

async function* vendorLines(
  client: pg.PoolClient,
  taskId: number,
  task: TaskFacts,
  sums: ChannelSums,
  isReceived: boolean,
): AsyncGenerator<string, void> {
  const agg = (value: string) => `string_agg(coalesce(${value}, ''), E'\\x1f' ORDER BY u.n)`
  const epoch = (time: string) => `floor(extract(epoch FROM ${time}))::bigint`
  const receipt = `string_agg(u.n || ',' || ${epoch('r.received_at')} || ',' || coalesce(${epoch('r.clicked_at')}::text, ''), ';')
      FILTER (WHERE r.device_id IS NOT NULL)`
  // In the order of the index batch_range.
  const sql = `SELECT b.channel, b.state, b.status, ${ms('b.settled_at')}, b.whys, b.recipients::text, l.*
    FROM batch b CROSS JOIN LATERAL (
      SELECT ${agg('d.guid')}, ${agg('d.user_id::text')}, ${agg('d.alias')}, ${isReceived ? receipt : 'NULL'}
      FROM unnest(b.recipients) WITH ORDINALITY AS u (id, n) LEFT JOIN device d ON d.id = u.id
      ${isReceived ? `LEFT JOIN receipt r ON r.task_id = ${taskId} AND ${inDays('r.task_id')} AND r.device_id = u.id AND r.channel = b.channel` : ''}
    ) l
    WHERE b.task_id = ${taskId} AND ${inDays('b.task_id')} AND NOT b.is_record AND b.channel <> 'native' ORDER BY b.channel, b.lo, b.hi`
  const rows = readCursor<BatchRow>(
    client,
    textWithin(daysOf([taskId]), sql),
    ([, , status]) => status.length,
  )
  for await (const page of rows)
    for (const [channel, state, status, at, whys, recipients, guids, users, aliases, receipts] of page)
      yield linesOfBatch(
        { channel, state, status, at, whys: whys ?? [], recipients, guids, users, aliases, receipts },
        task,
        sums,
      )
}

type NativeRow = [...PlaceRow, ...NameRow]

/**
 * Native messages are in batches, inboxes, records and receipts, in any combination, so their places are sorted by device. Postgres sorts on
 * disk if need be.
 */
async function* nativeLines(
  client: pg.PoolClient,
  taskId: number,
  task: TaskFacts,
  sums: ChannelSums,
): AsyncGenerator<string, void> {
  const letter = 'substr(b.status, x.n::int, 1)'
  const sql = `SELECT ${taskId}::bigint, u.device_id, ${task.paused}, u.kind, u.channel, u.letter, u.id, u.state, u.at, u.other, u.third, false,
      u.whys, ${nameColumns}
    FROM (
      SELECT x.device_id, CASE WHEN b.is_record THEN 'record' ELSE 'batch' END AS kind, b.channel, ${letter} AS letter, b.id, b.state,
        ${ms('b.settled_at')} AS at, ${ms('b.not_before')} AS other, NULL::float8 AS third,
        CASE WHEN ${letter} NOT IN ('s', 'i') THEN ${whysAtSql('b.whys', 'x.n')} END AS whys
      FROM batch b CROSS JOIN LATERAL unnest(b.recipients) WITH ORDINALITY AS x (device_id, n)
      WHERE b.task_id = ${taskId} AND ${inDays('b.task_id')} AND b.channel = 'native'
      UNION ALL
      SELECT i.device_id, 'inbox', NULL, NULL, NULL, NULL, ${ms('i.planned_at')}, ${ms('i.sent_at')}, ${ms('i.fallback_at')}, NULL FROM inbox i
      WHERE i.task_id = ${taskId} AND ${inDays('i.task_id')} AND NOT i.is_copy
      UNION ALL
      SELECT r.device_id, 'receipt', r.channel, NULL, NULL, NULL, ${ms('r.received_at')}, ${ms('r.clicked_at')}, NULL, NULL FROM receipt r
      WHERE r.task_id = ${taskId} AND ${inDays('r.task_id')} AND r.channel = 'native'
    ) u LEFT JOIN device d ON d.id = u.device_id ORDER BY u.device_id`
  let lines = ''
  let places: Place[] = []
  let device: Parameters<typeof lineOf>[0] | undefined
  const close = () => {
    if (!device) return
    const { path, ...receipt } = foldPath(places, task)
    for (const step of path) lines += lineOf(device, step, receipt, sums)
  }
  for await (const page of readCursor<NativeRow>(client, textWithin(daysOf([taskId]), sql), () => 1)) {
    for (const row of page) {
      const deviceId = row[1]
      if (device?.deviceId !== deviceId) {
        close()
        const [guid, userId, alias] = row.slice(-3) as NameRow
        device = { deviceId, guid, userId, alias }
        places = []
      }
      places.push(placeOf(row.slice(0, -3) as PlaceRow))
    }
    yield lines
    lines = ''
  }
  close()
  yield lines
}
