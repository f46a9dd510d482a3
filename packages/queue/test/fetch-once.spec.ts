import { describe, expect, it } from '@jest/globals'
import { fetchOncePerWake } from '../src/fetch-once.ts'

type Backend = Parameters<typeof fetchOncePerWake>[0]

/** A queue with `waiting` jobs and the marker that BullMQ's scripts set when a job is added or taken. */
function bench() {
  let waiting = 0
  let isMarked = false
  let asked = 0
  const { backend } = fetchOncePerWake<Backend>({
    async moveToActive() {
      asked++
      if (waiting === 0) return [null, '', 0, 0]
      waiting--
      isMarked = true
      return [{}, 'id', 0, 0]
    },
    async waitForJob() {
      if (!isMarked) return null
      isMarked = false
      return { score: 0 }
    },
  } as unknown as Backend)
  const ask = () => backend.moveToActive('token')
  const wait = () => backend.waitForJob(1)
  return {
    add(jobs: number) {
      waiting += jobs
      isMarked = true
    },
    /** As BullMQ's loop: asks until nothing is found, then waits. Returns the jobs taken until the wait is not ended by a marker. */
    async run(): Promise<number> {
      let taken = 0
      while (await wait()) while ((await ask())[0]) taken++
      return taken
    },
    asked: () => asked,
  }
}

describe('fetching from Redis', () => {
  it('asks twice for a job that came alone, not three times', async () => {
    const queue = bench()
    for (let n = 1; n <= 5; n++) {
      queue.add(1)
      expect(await queue.run()).toBe(1)
      expect(queue.asked()).toBe(2 * n)
    }
  })

  it('takes all jobs of a backlog, with a question each', async () => {
    const queue = bench()
    queue.add(50)
    expect(await queue.run()).toBe(50)
    // One that found nothing after the last job, and one after the marker of that job.
    expect(queue.asked()).toBe(52)
  })
})

describe('fetching from Postgres', () => {
  /** A queue whose wait says whether a job is waiting. Returns how often it was asked for each of the jobs, which come alone. */
  async function askedFor(jobs: number): Promise<number[]> {
    let waiting = 0
    let asked = 0
    const { backend, foundNone } = fetchOncePerWake<Backend>({
      async moveToActive() {
        asked++
        return waiting-- > 0 ? [{}, 'id', 0, 0] : [null, '', 0, 0]
      },
      async waitForJob() {
        waiting = Math.max(0, waiting)
        if (waiting > 0) return { score: 0 }
        foundNone()
        return null
      },
    } as unknown as Backend)
    const counts: number[] = []
    for (let n = 0; n < jobs; n++) {
      asked = 0
      // The wait that the job ends.
      expect(await backend.waitForJob(1)).toBeNull()
      waiting = 1
      while ((await backend.moveToActive('token'))[0]);
      counts.push(asked)
    }
    return counts
  }

  it('asks once for each job that came alone', async () => {
    expect(await askedFor(4)).toEqual([1, 1, 1, 1])
  })
})
