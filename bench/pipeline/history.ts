import { type Database, ensurePartitions } from '@herald/db/store'
import { sampleMessage } from '@herald/testkit/sample-message'
import { cpuPerItem, type Metrics, percentile, rounded } from '../metric.ts'
import { addIosDevices, type Deployment, startDeployment } from './deployment.ts'

const DAYS = 30
/** The number of tasks, of each thousand, to a tenth of all devices, to 1,000 devices and to three; the others are to one device. The last task is a broadcast. */
const kinds = { tenth: 20, thousand: 180, three: 400 }
const BATCH = 1000
const CALLS = 400

/** The messages of single devices, and the export of a broadcast, in a database with a month of tasks. */
export async function measureHistory(devices: number, tasks: number): Promise<Metrics> {
  const herald = await startDeployment({
    queue: 'postgres',
    workers: [],
    env: { HERALD_RETENTION_DAYS: '60' },
  })
  try {
    await addIosDevices(herald.db, herald.appId, devices)
    const broadcast = await addTasks(herald, devices, tasks)
    const history = await readMessages(herald, devices)
    const exported = await readExport(herald, broadcast, devices)
    const among = `${devices.toLocaleString('en')} devices and ${tasks.toLocaleString('en')} tasks of ${DAYS} days in the database`
    return {
      history_p95_ms: {
        value: rounded(percentile(history.latencies, 0.95)),
        unit: 'ms',
        note: `POST /admin/device/messages, ${among}; ${CALLS} devices one after the other, ${rounded(history.messages / CALLS)} messages each, p50 ${rounded(percentile(history.latencies, 0.5))} ms; ${history.cpu}`,
      },
      export_lines_per_s: {
        value: rounded((exported.lines / exported.tookMs) * 1000),
        unit: 'lines/s',
        note: `GET /push/task/export of a task with ${devices.toLocaleString('en')} devices, ${rounded(exported.bytes / exported.lines)} bytes per line; the API grew to at most ${rounded(exported.memory)} MB; ${exported.cpu}`,
      },
    }
  } finally {
    await herald.stop()
  }
}

/** Adds settled tasks by SQL, oldest first. Returns the broadcast to all devices. */
async function addTasks({ db, appId }: Deployment, devices: number, tasks: number): Promise<number> {
  const first = await db.pool.query<{ id: number }>('SELECT min(id) AS id FROM device WHERE app_id = $1', [
    appId,
  ])
  await addDays(db)
  // kind 0: every tenth device; 1: a thousand neighbours; 2: three devices; 3: one.
  await db.pool.query(
    `CREATE TABLE made AS
     SELECT n, ((extract(epoch FROM at) * 1000)::bigint - 1735689600000) * 4096 AS id, at,
       CASE WHEN n % 1000 < $1::int THEN 0 WHEN n % 1000 < $2::int THEN 1 WHEN n % 1000 < $3::int THEN 2 ELSE 3 END AS kind
     FROM generate_series(1, $4::int) n
     CROSS JOIN LATERAL (SELECT now() - interval '1 hour' - make_interval(secs => ($4::int - n) * ${DAYS * 86_400}::float8 / $4::int) AS at) a`,
    [kinds.tenth, kinds.tenth + kinds.thousand, kinds.tenth + kinds.thousand + kinds.three, tasks],
  )
  await db.pool.query(
    `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, begin_at, created_at, finished_at, deadline, planned_at, wide)
     SELECT id, $1, 'finished', '{"kind":"all"}', 'ospush_only', '{}', $2, 'high', 86400, at, at, at, at, at, kind < 2 OR n = $3::int FROM made`,
    [appId, JSON.stringify(sampleMessage()), tasks],
  )
  const batches = (recipients: string, from: string, values: unknown[]) =>
    db.pool.query({
      text: `INSERT INTO batch (task_id, app_id, channel, lane, state, size, recipients, status, deadline, planned_at, settled_at)
        SELECT id, $1, 'apns', 'high', 'settled', cardinality(ids), ids, repeat('s', cardinality(ids)), at, at, at
        FROM (SELECT m.id, m.at, ${recipients} AS ids FROM made m ${from}) b`,
      values: [appId, ...values],
    })
  const base = first.rows[0]!.id
  await batches(
    `ARRAY(SELECT i FROM generate_series($2::bigint + m.n % 10 + p * ${BATCH * 10}, LEAST($2::bigint + (p + 1) * ${BATCH * 10}, $2 + $3) - 1, 10) i)`,
    `CROSS JOIN LATERAL generate_series(0, ($3::bigint - 1) / ${BATCH * 10}) p WHERE m.kind = 0 AND m.n < $4::int`,
    [base, devices, tasks],
  )
  await batches(
    `ARRAY(SELECT i FROM generate_series($2::bigint + lo, $2::bigint + lo + ${BATCH - 1}) i)`,
    `CROSS JOIN LATERAL (SELECT (m.n * 7919::bigint) % ($3::bigint - ${BATCH}) AS lo) x WHERE m.kind = 1 AND m.n < $4::int`,
    [base, devices, tasks],
  )
  await batches(
    `ARRAY[$2::bigint + lo, $2::bigint + lo + 1, $2::bigint + lo + 2]`,
    `CROSS JOIN LATERAL (SELECT (m.n * 104729::bigint) % ($3::bigint - 3) AS lo) x WHERE m.kind = 2 AND m.n < $4::int`,
    [base, devices, tasks],
  )
  await batches(
    `ARRAY[$2::bigint + (m.n * 15485863::bigint) % $3::bigint]`,
    `WHERE m.kind = 3 AND m.n < $4::int`,
    [base, devices, tasks],
  )
  await batches(
    `ARRAY(SELECT i FROM generate_series($2::bigint + p * ${BATCH}, LEAST($2::bigint + (p + 1) * ${BATCH}, $2 + $3) - 1) i)`,
    `CROSS JOIN LATERAL generate_series(0, ($3::bigint - 1) / ${BATCH}) p WHERE m.n = $4::int`,
    [base, devices, tasks],
  )
  await db.pool.query(
    `INSERT INTO counter (task_id, channel, target, ranged, spread, sent)
     SELECT task_id, channel, sum(cardinality(recipients)), sum(cardinality(recipients)), max(hi - lo), sum(cardinality(recipients)) FROM batch GROUP BY 1, 2`,
  )
  const last = await db.pool.query<{ id: number }>('SELECT max(id) AS id FROM made')
  await db.pool.query('DROP TABLE made')
  await db.pool.query('VACUUM ANALYZE task, batch, counter')
  return last.rows[0]!.id
}

/** The planner has made the partitions from yesterday on. */
async function addDays(db: Database): Promise<void> {
  for (let day = 0; day <= DAYS + 8; day += 8) await ensurePartitions(db, Date.now() - day * 86_400_000)
}

async function readMessages(herald: Deployment, devices: number) {
  const latencies: number[] = []
  let messages = 0
  const read = async (n: number) => {
    const guid = `g${1 + ((n * 2_654_435_761) % devices)}`
    const started = performance.now()
    const page = await herald.call(
      '/admin/device/messages',
      { device_guid: guid, limit: 100 },
      herald.headers,
    )
    const tookMs = performance.now() - started
    return { tookMs, found: (page.list as unknown[]).length }
  }
  for (let n = 0; n < 20; n++) await read(n)
  const before = herald.cpuTime()
  for (let n = 20; n < 20 + CALLS; n++) {
    const { tookMs, found } = await read(n)
    latencies.push(tookMs)
    messages += found
  }
  return { latencies, messages, cpu: cpuPerItem(before, herald.cpuTime(), CALLS) }
}

async function readExport(herald: Deployment, task: number, devices: number) {
  const before = herald.cpuTime()
  const started = performance.now()
  const response = await fetch(`${herald.base}/push/task/export?task_id=${task}`, { headers: herald.headers })
  let [lines, bytes, memory, end] = [0, 0, 0, '']
  for await (const chunk of response.body!) {
    bytes += chunk.length
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
    end = (end + Buffer.from(chunk).toString('latin1')).slice(-4096)
    memory = Math.max(memory, herald.memory().get('api') ?? 0)
  }
  const tookMs = performance.now() - started
  const sums = JSON.parse(end.trimEnd().split('\n').at(-1)!) as { equal: boolean; lines: number }
  if (!sums.equal || sums.lines !== devices || lines !== devices + 1)
    throw new Error(`the export has ${lines} lines: ${JSON.stringify(sums)}`)
  return { lines: devices, bytes, tookMs, memory, cpu: cpuPerItem(before, herald.cpuTime(), devices) }
}
