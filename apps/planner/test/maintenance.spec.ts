import { randomBytes } from 'node:crypto'
import { certificateAt } from '@herald/db/certificates'
import { sealHealth } from '@herald/db/readings'
import { createSealer, ensurePartitions } from '@herald/db/store'
import { until } from '@herald/testkit'
import { addApplication, addCertificate } from '@herald/testkit/sample-tenant'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Harness, startHarness } from './harness.ts'

const DAY = 86_400_000
/** The time is in the ids of tasks. */
const IDS_PER_DAY = DAY * 4096

// The first rounds find all this: some loops rest for an hour after a round.
describe('a planner that starts', () => {
  const [nextKey, formerKey] = [randomBytes(32), randomBytes(32)]
  const secret = 'sealed with the former key'
  let harness: Harness
  let application: string
  let secretBefore: string | undefined
  let brokenBefore: number
  let oldTask: number
  let youngTask: number
  let longSuspect: number
  let newSuspect: number

  const presentSealer = () => createSealer(harness.settings.masterKey!)
  const readSecret = async (sealer = harness.sealer) => {
    const place = { application, channel: 'oppo', environment: 'production' } as const
    return (await certificateAt(harness.db, sealer, place))?.appSecret
  }
  async function addFinished(daysAgo: number): Promise<number> {
    const { rows } = await harness.db.pool.query<{ id: number }>(
      `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, finished_at)
       VALUES (next_task_id() - $2::bigint, $1, 'finished', '{"kind":"all"}', 'combined', '{}', '{}', 'high', 0,
         now() - make_interval(days => $3)) RETURNING id`,
      [application, daysAgo * IDS_PER_DAY, daysAgo],
    )
    return rows[0]!.id
  }
  async function addSuspect(channel: 'vivo' | 'xiaomi', since: string): Promise<number> {
    const { db, sealer } = harness
    const id = await addCertificate(db, application, channel, { sealer })
    await db.pool.query(
      `UPDATE certificate SET state = 'suspect', last_error = 'dead tokens', last_error_at = now() - $2::interval WHERE id = $1`,
      [id, since],
    )
    return id
  }

  beforeAll(async () => {
    harness = await startHarness({
      settings: {
        HERALD_OTHER_MASTER_KEYS: [nextKey, formerKey].map((key) => key.toString('hex')).join(),
        HERALD_RETENTION_DAYS: '1',
      },
    })
    const { db } = harness
    application = await addApplication(db, 'maintained')
    await addCertificate(db, application, 'oppo', { appSecret: secret, sealer: createSealer(formerKey) })
    secretBefore = await readSecret()
    brokenBefore = (await sealHealth(db, presentSealer())).broken
    await ensurePartitions(db, Date.now() - 3 * DAY)
    oldTask = await addFinished(3)
    youngTask = await addFinished(0)
    longSuspect = await addSuspect('vivo', '11 minutes')
    newSuspect = await addSuspect('xiaomi', '0 minutes')
    await harness.startPlanner()
  })
  afterAll(() => harness.stop())

  it('reseals with the present master key what one of the other keys opens', async () => {
    expect(secretBefore).toBe(secret)
    expect(brokenBefore).toBeGreaterThan(0)
    const isResealed = async () => (await sealHealth(harness.db, presentSealer())).broken === 0
    await until(isResealed, { what: 'the present key to open all' })
    expect(await readSecret(presentSealer())).toBe(secret)
  })

  it('deletes tasks that ended more days ago than the setting says', async () => {
    const kept = async () => {
      const ids = [oldTask, youngTask]
      const { rows } = await harness.db.pool.query('SELECT id FROM task WHERE id = ANY($1)', [ids])
      return rows.map(({ id }) => id)
    }
    await until(async () => !(await kept()).includes(oldTask), { what: 'the end of the old task' })
    expect(await kept()).toEqual([youngTask])
  })

  it('ends the suspicion of a certificate after ten minutes', async () => {
    const stateOf = async (id: number) =>
      (await harness.db.pool.query('SELECT state FROM certificate WHERE id = $1', [id])).rows[0].state
    await until(async () => (await stateOf(longSuspect)) === 'open', { what: 'the end of the suspicion' })
    expect(await stateOf(newSuspect)).toBe('suspect')
  })
})
