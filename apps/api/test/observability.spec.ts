import { createLogger } from '@herald/telemetry'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openTestApi, type TestApi } from './harness.ts'

let api: TestApi
const lines: Record<string, unknown>[] = []
beforeAll(async () => {
  const log = createLogger({
    name: 'spec',
    destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
  })
  api = await openTestApi({ overrides: { log } })
})
afterAll(() => api.close())

const notify = (headers: Record<string, string> = {}, setting: object = {}) =>
  api.call('/push/notify', {
    token: api.adminToken,
    headers,
    body: { audience: 'all', setting, message: { title: 'Hello' } },
  })

describe('a request in the log', () => {
  it('has the caller’s request id and the task id', async () => {
    const answer = await notify({ 'x-request-id': 'order-7f.1:a_b' })
    expect(answer.headers.get('x-request-id')).toBe('order-7f.1:a_b')
    expect(lines).toContainEqual(
      expect.objectContaining({
        requestId: 'order-7f.1:a_b',
        task: answer.data.task_id,
        app: api.appId,
        msg: 'task accepted',
      }),
    )
  })

  it.each(['', 'x'.repeat(129), 'two words', 'a,b', '{"a":1}', 'ü'])(
    'gets an id of ours when the caller’s is %j',
    async (id) => {
      const { headers } = await notify({ 'x-request-id': Buffer.from(id).toString('latin1') })
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
    },
  )

  it('distinguishes a repeated request from the first', async () => {
    const first = await notify({}, { request_id: 'once' })
    const second = await notify({}, { request_id: 'once' })
    expect(second.data.task_id).toBe(first.data.task_id)
    expect(lines.at(-1)).toMatchObject({
      requestId: second.headers.get('x-request-id'),
      task: first.data.task_id,
      msg: 'request_id repeated; returned the existing task',
    })
  })

  it('has the same id in the answer and the log when it fails', async () => {
    const { pool } = api.deps.db
    const query = pool.query
    pool.query = (() => Promise.reject(new Error('broken on purpose'))) as unknown as typeof query
    const answer = await api
      .call('/push/task/detail', {
        token: api.adminToken,
        headers: { 'x-request-id': 'will-fail' },
        body: { list: [1] },
      })
      .finally(() => {
        pool.query = query
      })
    expect(answer.code).toBe(50001)
    expect(answer.headers.get('x-request-id')).toBe('will-fail')
    expect(lines.at(-1)).toMatchObject({ level: 'error', requestId: 'will-fail', path: '/push/task/detail' })
  })
})

describe('/metrics of the API', () => {
  it('answers with a failure when a metric cannot be read', async () => {
    const { registry } = api.deps
    const { metrics } = registry
    registry.metrics = () => Promise.reject(new Error('no figure'))
    const answer = await api.call('/metrics').finally(() => {
      registry.metrics = metrics
    })
    expect(answer.code).toBe(50001)
    expect(lines.at(-1)).toMatchObject({
      level: 'error',
      path: 'other',
      msg: 'request failed with an unexpected error',
    })
  })

  it('counts tasks, repetitions and requests by path', async () => {
    await notify()
    const text = await (await fetch(`${api.url}/metrics`)).text()
    expect(text).toMatch(/^herald_tasks_accepted_total\{kind="fresh",program="spec"\} \d+$/m)
    expect(text).toMatch(/^herald_tasks_accepted_total\{kind="repeated",program="spec"\} 1$/m)
    expect(text).toMatch(
      /^herald_http_seconds_count\{program="spec",path="\/push\/notify",status="200"\} \d+$/m,
    )
    expect(text).toMatch(/^herald_postgres_connections\{state="idle",program="spec"\} \d+$/m)
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds\{program="spec"\} /m)
    expect(text).toMatch(/^process_resident_memory_bytes\{program="spec"\} \d+/m)
    expect(text).not.toContain(api.appId)
  })
})
