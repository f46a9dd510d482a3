import { planPage } from '@herald/db/tasks'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { beginRound } from '../src/begin-round.ts'
import { planRound } from '../src/plan-round.ts'
import { type Harness, planningDeps, startHarness } from './harness.ts'

describe('pages', () => {
  let harness: Harness
  let many: string
  let single: string
  beforeAll(async () => {
    harness = await startHarness()
    const devices = Array.from({ length: 1001 }, (_, i) => ({ tokens: { oppo: `${i}:accepted` } }))
    many = await harness.addApplication('many')
    single = await harness.addApplication('single')
    for (const app of [many, single]) await harness.addDevices(app, devices)
  })
  afterAll(() => harness.stop())

  /** Number of slices that are planned, of those that were begun. */
  const planned = async (app: string) =>
    (
      await harness.db.pool.query(
        `SELECT (count(*) FILTER (WHERE s.cursor = s.hi))::int AS planned FROM slice s JOIN task t ON t.id = s.task_id
         WHERE t.app_id = $1`,
        [app],
      )
    ).rows[0].planned as number

  it('of an application with a single broadcast alternate with those of one with 200', async () => {
    const broadcasts = await Promise.all(Array.from({ length: 200 }, () => harness.notify(many)))
    const one = await harness.notify(single)
    const deps = planningDeps(harness)
    while (await beginRound(deps)) {}
    for (let pages = 2; pages <= 14; pages += 2) {
      await planRound(deps)
      await planRound(deps)
      expect([await planned(many), await planned(single)]).toEqual([pages / 2, pages / 2])
    }
    await planRound(deps)
    await planRound(deps)
    expect(await harness.stateOf(one)).toBe('sending')
    // A broadcast of the lane high comes first, and one page in five is of the lane normal.
    await harness.notify(single, { lane: 'high' })
    await beginRound(deps)
    const before = await planned(many)
    for (let page = 0; page < 5; page++) await planRound(deps)
    expect([(await planned(many)) - before, await planned(single)]).toEqual([1, 4])
    for (const task of [...broadcasts, one])
      await harness.db.pool.query(`UPDATE task SET state = 'cancelled' WHERE id = $1`, [task])
  })

  it('cost the same to find among 10 and among 1000 broadcasts', async () => {
    await harness.db.pool.query('DELETE FROM task; DELETE FROM slice')
    const costs: number[] = []
    for (const count of [10, 990]) {
      await harness.db.pool.query(
        `WITH t AS (
           INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, deadline)
           SELECT next_task_id(), $1, 'planning', '{"kind":"all"}', 'ospush_only', '{}', '{}', 'normal', 100, now()
           FROM generate_series(1, $2) RETURNING id
         )
         INSERT INTO slice (task_id, no, hi, cursor, width) SELECT id, no, 1000, 0, 100 FROM t, generate_series(1, 8) no`,
        [many, count],
      )
      await harness.db.pool.query('VACUUM ANALYZE task, slice')
      // The least of three: Postgres may have to read its catalog again because of other databases of the server.
      costs.push(Math.min(await blocksOfNextPage(), await blocksOfNextPage(), await blocksOfNextPage()))
    }
    const [few, thousand] = costs as [number, number]
    expect(thousand).toBeLessThanOrEqual(few + 40)
  })

  /** Blocks that Postgres touches to find and lease the next slice. */
  async function blocksOfNextPage(): Promise<number> {
    let blocks = -1
    type Statement = { name?: string; text: string; values: unknown[] }
    const pool = new Proxy(harness.db.pool, {
      get(target, key) {
        if (key === 'query') return target.query.bind(target)
        if (key !== 'connect') return Reflect.get(target, key)
        return async () => {
          const client = await target.connect()
          const query = async (statement: string | Statement) => {
            // Statements without a name look for the days with open work.
            if (typeof statement === 'string' || !statement.name) return client.query(statement)
            const { text, values } = statement
            const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values)
            const { Plan: plan } = rows[0]['QUERY PLAN'][0]
            blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
            return { rows: [] }
          }
          const { on, off, release } = client
          return { query, on: on.bind(client), off: off.bind(client), release: release.bind(client) }
        }
      },
    })
    await planPage({ ...harness.db, pool }, { lane: 'normal', after: '', except: [] }, async () => undefined)
    return blocks
  }
})
