import type { MulticastRequest } from '../../src/multicast-request.ts'
import { openPool, type Pool, type PoolOptions } from '../../src/pool.ts'
import { Recorder } from './recorder.ts'

/** Opens pools and closes whatever a test left open; call `closeAll` after each test. */
export function makePools() {
  const open: { close(graceMs?: number): Promise<void> }[] = []
  return {
    pool(options: PoolOptions): Pool {
      const pool = openPool({ ...connectionLimits, ...options })
      open.push(pool)
      return pool
    },
    /** Anything else to be closed with the pools. */
    keep<T extends { close(): Promise<void> }>(thing: T): T {
      open.push(thing)
      return thing
    },
    async closeAll(): Promise<void> {
      await Promise.all(open.splice(0).map((thing) => thing.close(0)))
    },
  }
}

/** No connection or request of a spec reaches them, unless the spec sets its own: the machine may stand still for seconds. */
const connectionLimits = { connectTimeoutMs: 120_000, pingTimeoutMs: 120_000 }
const limits = { timeoutMs: 120_000, deadlineMs: 200_000 }

/** Sends to `count` recipients below /to/ and waits for all reports. */
export async function multicast(
  pool: Pool,
  request: Partial<MulticastRequest> & { count: number },
): Promise<Recorder> {
  const { recorder, done } = begin(pool, request)
  await done
  return recorder
}

export function begin(
  pool: Pool,
  request: Partial<MulticastRequest> & { count: number },
): { recorder: Recorder; done: Promise<void> } {
  const recorder = new Recorder()
  const done = pool.multicast({
    headers: { 'content-type': 'application/json', 'x-shared': 'the same for all' },
    path: (index) => `/to/${index}`,
    body: { before: '{"to":', slot: String, after: '}' },
    ...recorder.callbacks,
    ...limits,
    ...request,
  })
  return { recorder, done }
}
