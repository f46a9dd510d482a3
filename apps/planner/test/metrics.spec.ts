import { counters, createRegistry, gauges, histograms, type Registry } from '@herald/telemetry'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createSampler } from '../src/sampler.ts'
import { type Harness, plainMessage, startHarness } from './harness.ts'

let harness: Harness
let app: string
beforeAll(async () => {
  harness = await startHarness()
  app = await harness.addApplication('measured', { limits: { devicesPerSecond: 1000, dailyQuota: 5 } })
  await harness.startPlanner()
})
afterAll(() => harness.stop())

/** The sum of the samples whose labels include these. */
async function value(
  name: string,
  labels: Record<string, string> = {},
  registry: Registry = harness.registry,
) {
  const found = await registry.getSingleMetric(name)?.get()
  const samples = (found?.values ?? []).filter(
    (sample) =>
      ((sample as { metricName?: string }).metricName ?? name).replace(/_count$/, '') === name &&
      Object.entries(labels).every(([label, wanted]) => String(sample.labels[label]) === wanted),
  )
  return samples.length === 0 ? undefined : samples.reduce((sum, sample) => sum + sample.value, 0)
}

describe('the metrics of a push', () => {
  it('counts every fate, and outcomes by kind', async () => {
    await harness.startWorkers(['xiaomi', 'honor'])
    await harness.addDevices(app, [
      ...['a', 'b', 'c'].map((name) => ({ tokens: { xiaomi: `${name}:accepted` } })),
      { tokens: { xiaomi: 'd:gone' } },
      { tokens: { honor: 'e:accepted', xiaomi: 'e:rejected' } },
      { tokens: {} },
    ])
    const task = await harness.notify(app)
    await harness.finished(task)
    // A job is measured when it has ended, after its batches.
    for (const channel of ['xiaomi', 'honor'])
      await until(async () => (await value('herald_job_seconds', { channel })) === 1, { what: 'the job' })
    expect(await value('herald_recipients_total', { channel: 'xiaomi', fate: 'sent' })).toBe(3)
    expect(await value('herald_recipients_total', { channel: 'xiaomi', fate: 'failed' })).toBe(1)
    expect(await value('herald_recipients_total', { channel: 'xiaomi', fate: 'moved' })).toBe(1)
    expect(await value('herald_recipients_total', { channel: 'honor', fate: 'sent' })).toBe(1)
    expect(await value('herald_outcomes_total', { channel: 'xiaomi', outcome: 'accepted' })).toBe(3)
    expect(await value('herald_outcomes_total', { channel: 'xiaomi', outcome: 'gone' })).toBe(1)
    expect(await value('herald_outcomes_total', { channel: 'xiaomi', outcome: 'rejected' })).toBe(1)
    expect(await value('herald_notify_to_vendor_seconds', { channel: 'xiaomi', lane: 'high' })).toBe(1)
    expect(await value('herald_vendor_call_seconds', { channel: 'xiaomi' })).toBe(1)
  })

  it('measures the latency from the accept, and of a scheduled task from its begin time', async () => {
    const sum = async () => {
      const found = await harness.registry.getSingleMetric('herald_notify_to_vendor_seconds')!.get()
      return found.values
        .filter((sample) => (sample as { metricName?: string }).metricName?.endsWith('_sum'))
        .reduce((total, sample) => total + sample.value, 0)
    }
    const before = await sum()
    await harness.addDevices(app, [{ tokens: { honor: 'late:accepted' }, tag: 'late' }])
    const begin = Math.floor(Date.now() / 1000) + 2
    const task = await harness.notify(app, {
      audience: { kind: 'tag', tags: ['late'] },
      message: { ...plainMessage, showBegin: begin },
    })
    await harness.finished(task)
    expect(await value('herald_recipients_planned_total', { channel: 'honor' })).toBe(1)
    // Measured from the accept it would be two seconds more.
    expect((await sum()) - before).toBeLessThanOrEqual(Date.now() / 1000 - begin)
  })

  it('counts recipients deferred by the governor, and the backlog', async () => {
    await harness.addDevices(
      app,
      Array.from({ length: 8 }, (_, i) => ({ tokens: { xiaomi: `q${i}:accepted` }, tag: 'quota' })),
    )
    await harness.addDevices(app, [{ tokens: { oppo: 'o:accepted' }, tag: 'quota' }])
    await harness.notify(app, { audience: { kind: 'tag', tags: ['quota'] } })
    await until(async () => ((await value('herald_governor_held_total', { cause: 'quota' })) ?? 0) >= 1)
    // There is no oppo worker, so its batch waits. The pause after a sample is twenty times its duration.
    await until(
      async () => (await value('herald_queue_recipients', { channel: 'oppo', state: 'released' })) === 1,
      { what: 'the next sample' },
    )
    expect(await value('herald_queue_age_seconds', { channel: 'oppo' })).toBeGreaterThan(0)
    expect(await value('herald_queue_age_seconds', { channel: 'apns' })).toBe(0)
    await until(async () => (await value('herald_queue_jobs', { channel: 'oppo', state: 'waiting' })) === 1, {
      what: 'the job',
    })
    await until(
      async () => ((await value('herald_queue_recipients', { channel: 'xiaomi', state: 'later' })) ?? 0) >= 1,
      { what: 'the batches that wait' },
    )
    expect(await value('herald_tasks_open', { state: 'sending' })).toBeGreaterThanOrEqual(1)
    expect(await value('herald_certificates', { channel: 'oppo', state: 'open' })).toBe(1)
    expect(await value('herald_database_bytes')).toBeGreaterThan(1_000_000)
    // A check that took longer than two seconds on a busy machine is repeated every 15 seconds.
    for (const dependency of ['postgres', 'queue'])
      await until(async () => (await value('herald_dependency_up', { dependency })) === 1, {
        what: dependency,
      })
    expect(Math.abs((await value('herald_clock_offset_seconds')) ?? 99)).toBeLessThan(1)
    await until(async () => (await value('herald_postgres_connections', { state: 'waiting' })) === 0)
  })

  it('are sampled by one of several planners, and by another when that one stops', async () => {
    const registry = createRegistry('second')
    const second = createSampler({ db: harness.db, queues: harness.queues, registry })
    await second.sample()
    expect(await value('herald_queue_age_seconds', { channel: 'oppo' }, registry)).toBeUndefined()
    expect(await value('herald_database_bytes', {}, registry)).toBeUndefined()
    await harness.stopServices()
    await harness.db.pool.query(
      `WITH certificate AS (SELECT id FROM certificate WHERE app_id = $1 AND channel = 'oppo'),
         breaker AS (INSERT INTO breaker (certificate_id, failures, retry_at, code, text) SELECT id, 1, now(), 'oppo.http', 'HTTP 503' FROM certificate)
       INSERT INTO certificate_hold (certificate_id, scope, kind, code, text, until)
       SELECT id, scope, kind, 'oppo.67', 'refused', now() + ends FROM certificate,
         (VALUES ('class service', 'rejected', interval '1 hour'), ('channel 1', 'rejected', interval '1 hour'),
           ('class old', 'rejected', interval '-1 hour'), ('quota IM', 'quota', interval '1 hour')) v (scope, kind, ends)`,
      [app],
    )
    await second.sample()
    expect(await value('herald_breakers_open', { channel: 'oppo' }, registry)).toBe(1)
    expect(await value('herald_breakers_open', { channel: 'xiaomi' }, registry)).toBe(0)
    expect(await value('herald_certificate_holds', { channel: 'oppo', kind: 'rejected' }, registry)).toBe(2)
    expect(await value('herald_certificate_holds', { channel: 'oppo', kind: 'quota' }, registry)).toBe(1)
    expect(await value('herald_certificate_holds', { channel: 'xiaomi' }, registry)).toBe(0)
    expect(await value('herald_queue_recipients', { channel: 'oppo' }, registry)).toBe(1)
    expect(await value('herald_governor_used_today', { channel: 'xiaomi' }, registry)).toBeGreaterThan(0)
    expect(await value('herald_queue_age_seconds', { channel: 'oppo' })).toBeUndefined()
    await second.stop()
  })

  it('use only labels with a bounded number of values', () => {
    const bounded = ['channel', 'kind', 'fate', 'outcome', 'code', 'cause', 'result', 'state', 'class', 'by']
    const more = ['dependency', 'path', 'status', 'lane']
    for (const [name, { help, labels }] of Object.entries({ ...counters, ...gauges, ...histograms })) {
      expect(name).toMatch(/^herald_[a-z_]+$/)
      expect(help).toMatch(/^[A-Z1].*\.$/)
      for (const label of labels) expect([...bounded, ...more]).toContain(label)
    }
    for (const name of Object.keys(counters)) expect(name).toMatch(/_total$/)
    for (const name of Object.keys(histograms)) expect(name).toMatch(/_seconds$/)
  })
})
