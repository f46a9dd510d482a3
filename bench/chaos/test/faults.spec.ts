import { sleep } from '@herald/async'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { useDatabase } from '@herald/testkit/use-database'
import { describe, expect, it } from '@jest/globals'
import { type FaultTargets, makeFault } from '../faults.ts'
import { processesOf } from '../processes.ts'
import { createVendorFaults } from '../vendor-faults.ts'

const inFlight = Array.from({ length: 7 }, (_, n) => ({ task: 1, device: n, channel: 'fcm' }))

/** A deployment that records what is done to it; its worker has seven pushes in flight. */
function targetsOf() {
  const steps: string[] = []
  const allowed: unknown[] = []
  const targets = {
    processes: { list: processesOf('small') },
    db: {
      pool: {
        query: async (text: string) => {
          steps.push(/FROM batch/.test(text) ? 'count' : text)
          return { rows: inFlight }
        },
      },
    },
    links: {
      cut: async (name: string) => void steps.push(`cut ${name}`),
      restore: async (name: string) => void steps.push(`restore ${name}`),
    },
    postgres: { fillDisk: async () => Promise.reject(new Error('never full')) },
    allow: (...given: unknown[]) => void allowed.push(given),
    onBroken: (sentence: string) => void steps.push(sentence),
  } as unknown as FaultTargets
  return { targets, steps, allowed }
}

const db = useDatabase()

describe('the faults of a drill', () => {
  it('allow duplicates of what a worker had in flight when it was cut off', async () => {
    const { targets, steps, allowed } = targetsOf()
    await makeFault({ kind: 'cut-host', victim: 'workers-1', seconds: 0, at: 0 }, targets)
    expect(steps).toEqual(['cut workers-1', 'count', 'restore workers-1'])
    expect(allowed).toEqual([[7, inFlight]])
  })

  it('find the pushes in flight of this worker in batches and bundles', async () => {
    const batches = [{ channel: 'fcm' as const, certificateId: 1, recipients: [5, 6, 7], tried: [] }]
    const [own, other] = [await acceptPlan(db, 'app', { batches }), await acceptPlan(db, 'app', { batches })]
    const sending = `state = 'sending', worker = $2 || ' 3'`
    await db.pool.query(`UPDATE batch SET status = 's..', ${sending} WHERE task_id = $1`, [
      own.taskId,
      'fcm@workers-1',
    ])
    await db.pool.query(`UPDATE batch SET ${sending} WHERE task_id = $1`, [other.taskId, 'fcm@workers-2'])
    await db.pool.query(
      `INSERT INTO bundle (task_id, channel, lane, state, size, tasks, recipients, certificates, status, deadline, worker)
       VALUES ($1, 'fcm', 'normal', 'sending', 2, ARRAY[$1::bigint, $1::bigint + 1], '{8,9}', '{1,1}', '.s', now(), 'fcm@workers-1 4')`,
      [other.taskId],
    )
    const { targets, allowed } = targetsOf()
    await makeFault({ kind: 'cut-host', victim: 'workers-1', seconds: 0, at: 0 }, { ...targets, db })
    const push = (task: number, device: number) => ({ task, device, channel: 'fcm' })
    expect(allowed).toEqual([
      [3, expect.arrayContaining([push(own.taskId, 6), push(own.taskId, 7), push(other.taskId, 8)])],
    ])
  })

  it('allow none while Postgres refuses writes, and report a disk that was not full', async () => {
    const { targets, steps, allowed } = targetsOf()
    await makeFault({ kind: 'read-only', seconds: 0, at: 0 }, targets)
    await makeFault({ kind: 'disk-full', seconds: 0, at: 0 }, targets)
    expect(steps).toEqual([
      'ALTER SYSTEM SET default_transaction_read_only = on',
      'SELECT pg_reload_conf()',
      'ALTER SYSTEM RESET default_transaction_read_only',
      'SELECT pg_reload_conf()',
      'never full',
    ])
    expect(allowed).toEqual([])
  })

  it('of a vendor do not end each other', async () => {
    const set: object[] = []
    const { disturb } = createVendorFaults({ setFaults: async (_, faults) => void set.push(faults) })
    await disturb(['oppo'], { refuseAuth: true }, () => disturb(['oppo'], { throttle: 0.5 }, async () => {}))
    expect(set).toEqual([{ refuseAuth: true }, { refuseAuth: true, throttle: 0.5 }, { refuseAuth: true }, {}])
  })

  it('of a vendor end although one call overtakes another', async () => {
    const calls: { answer: () => void }[] = []
    let faultsNow = {}
    const { disturb } = createVendorFaults({
      setFaults: (_, faults) =>
        new Promise((resolve) => {
          const answer = () => {
            faultsNow = faults
            resolve()
          }
          calls.push({ answer })
        }),
    })
    const ending = Promise.withResolvers<void>()
    const both = Promise.all([
      disturb(['honor'], { throttle: 0.5 }, () => ending.promise),
      disturb(['honor'], { latencyMs: 100 }, () => ending.promise),
    ])
    let open = true
    void both.finally(() => {
      open = false
    })
    ending.resolve()
    // The simulator handles calls that are on their way together in reverse.
    while (open) {
      for (const { answer } of calls.splice(0).reverse()) answer()
      await sleep(0)
    }
    expect(faultsNow).toEqual({})
  })

  it('of a vendor that cannot be ended are reported', async () => {
    const { targets, steps } = targetsOf()
    let calls = 0
    const vendorFaults = createVendorFaults({
      setFaults: async () => {
        if (++calls > 1) throw new Error('no response')
      },
    })
    await makeFault(
      { kind: 'vendor-refuses', channel: 'honor', seconds: 0, at: 0 },
      { ...targets, vendorFaults },
    )
    expect(steps).toEqual(['faults of honor: no response'])
  })
})
