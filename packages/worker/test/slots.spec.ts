import type { Lane } from '@herald/domain'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { createSlots, type Progress, type Slots, STALL_MS } from '../src/slots.ts'

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})
/** Lets promises settle. */
const turns = () => jest.advanceTimersByTimeAsync(0)

/** Jobs that end when told, and the order in which they started and were put back. */
function harness(size: number) {
  const errors: unknown[] = []
  const slots: Slots = createSlots({ size, onStalledError: (error) => errors.push(error) })
  const started: string[] = []
  const back: string[] = []
  const left: string[] = []
  const running = new Map<
    string,
    PromiseWithResolvers<void> & { progress(phase: Parameters<Progress>[0], of?: string): void }
  >()

  function add(name: string, lane: Lane = 'high', ...certificates: string[]): void {
    const certificateIds = certificates.length > 0 ? certificates : [name]
    slots
      .run({
        lane,
        certificateIds,
        work(certificates, report) {
          started.push(certificates.length < certificateIds.length ? `${name} with ${certificates}` : name)
          const progress = (phase: Parameters<Progress>[0], of = certificates[0]!) => report(phase, of)
          const work = { ...Promise.withResolvers<void>(), progress }
          running.set(name, work)
          return work.promise
        },
        async putBack(certificates) {
          back.push(certificates.length < certificateIds.length ? `${certificates} of ${name}` : name)
        },
      })
      .then(
        () => left.push(name),
        (error) => left.push(`${name} ${error.message}`),
      )
  }
  async function end(name: string, error?: Error): Promise<void> {
    const work = running.get(name)!
    running.delete(name)
    if (error) work.reject(error)
    else work.resolve()
    await turns()
  }
  /** Reports calls of a job and lets the time of a stall pass. */
  async function hang(...names: string[]): Promise<void> {
    for (const name of names) running.get(name)!.progress('calling')
    await jest.advanceTimersByTimeAsync(STALL_MS)
  }
  return { slots, started, back, left, errors, running, add, end, hang }
}

describe('slots', () => {
  it('run as many jobs as there are slots, first come first', async () => {
    const { add, end, started } = harness(2)
    for (const name of ['a', 'b', 'c', 'd']) add(name)
    await turns()
    expect(started).toEqual(['a', 'b'])
    await end('b')
    expect(started).toEqual(['a', 'b', 'c'])
    await end('a')
    expect(started).toEqual(['a', 'b', 'c', 'd'])
  })

  it('give the high lane four turns for one of the normal lane', async () => {
    const { add, end, started } = harness(1)
    for (let n = 1; n <= 10; n++) add(`h${n}`)
    for (let n = 1; n <= 4; n++) add(`n${n}`, 'normal')
    await turns()
    while (started.length < 14) await end(started.at(-1)!)
    expect(started.join(' ')).toBe('h1 h2 h3 h4 h5 n1 h6 h7 h8 h9 n2 h10 n3 n4')
  })

  it('let one lane use all slots while the other is empty', async () => {
    const { add, started } = harness(3)
    for (const name of ['n1', 'n2', 'n3']) add(name, 'normal')
    await turns()
    expect(started).toHaveLength(3)
  })

  it('give the next slot to the certificate with the fewest', async () => {
    const { add, end, started } = harness(2)
    for (const name of ['a1', 'a2', 'a3', 'a4']) add(name, 'high', 'a')
    for (const name of ['b1', 'b2']) add(name, 'high', 'b')
    await turns()
    await end('a1')
    await end('a2')
    await end('b1')
    expect(started).toEqual(['a1', 'a2', 'b1', 'a3', 'b2'])
  })

  it('have one more for a high job of a certificate without any, while another has several', async () => {
    const { add, end, started } = harness(2)
    for (const name of ['a1', 'a2', 'a3']) add(name, 'high', 'a')
    add('b1', 'normal', 'b')
    add('c1', 'high', 'c')
    add('d1', 'high', 'd')
    await turns()
    expect(started).toEqual(['a1', 'a2', 'c1'])
    await end('c1')
    expect(started).toEqual(['a1', 'a2', 'c1', 'd1'])
    await end('a1')
    // Two of two slots are in use: the further one is only beyond a certificate with several.
    expect(started).toHaveLength(4)
    await end('a2')
    expect(started.slice(4)).toEqual(['a3'])
  })

  it('pass on the error of a job and continue', async () => {
    const { add, end, left, started } = harness(1)
    add('a')
    add('b')
    await turns()
    await end('a', new Error('failed'))
    expect(left).toEqual(['a failed'])
    expect(started).toEqual(['a', 'b'])
  })
})

describe('a job whose vendor reports nothing', () => {
  it('loses its slot to another application, and goes on', async () => {
    const { add, hang, end, started, left, slots } = harness(1)
    add('a')
    add('b')
    await turns()
    await hang('a')
    expect(started).toEqual(['a', 'b'])
    expect(left).toEqual(['a'])
    let ended = false
    void slots.stalledEnded().then(() => {
      ended = true
    })
    await turns()
    expect(ended).toBe(false)
    await end('a')
    expect(ended).toBe(true)
  })

  it('keeps its slot while results arrive, however long it takes', async () => {
    const { add, running, started } = harness(1)
    add('a')
    add('b')
    await turns()
    for (let second = 0; second < 60; second++) {
      running.get('a')!.progress('calling')
      await jest.advanceTimersByTimeAsync(1000)
    }
    expect(started).toEqual(['a'])
  })

  it('keeps its slot while it waits for Postgres', async () => {
    const { add, running, started } = harness(1)
    add('a')
    add('b')
    await turns()
    await jest.advanceTimersByTimeAsync(60_000)
    running.get('a')!.progress('calling')
    running.get('a')!.progress('working')
    await jest.advanceTimersByTimeAsync(60_000)
    expect(started).toEqual(['a'])
  })

  it('keeps its slot if it was this process that stood still', async () => {
    const { add, running, started } = harness(1)
    add('a')
    add('b')
    await turns()
    running.get('a')!.progress('calling')
    // A minute later one timer fires, before the answer of the vendor is read.
    const now = performance.now() + 60_000
    jest.spyOn(performance, 'now').mockImplementation(() => now)
    jest.setSystemTime(Date.now() + 60_000)
    await jest.advanceTimersByTimeAsync(STALL_MS / 2)
    expect(started).toEqual(['a'])
    jest.restoreAllMocks()
  })

  it('makes its certificate suspect: it has one slot, and further jobs are put back', async () => {
    const { add, hang, started, back } = harness(2)
    for (const name of ['a1', 'a2', 'a3']) add(name, 'high', 'a')
    add('b1', 'high', 'b')
    await turns()
    await hang('a1', 'a2')
    // a3 waited for a slot when the others stalled; two jobs of the certificate are stalled, as many as there are slots.
    expect({ started, back }).toEqual({ started: ['a1', 'a2', 'b1'], back: ['a3'] })
    add('a4', 'normal', 'a')
    await turns()
    expect(back).toEqual(['a3', 'a4'])
  })

  it('ends the suspicion when a later job ends without stalling', async () => {
    const { add, hang, end, running, started, back } = harness(3)
    add('a1', 'high', 'a')
    await turns()
    await hang('a1')
    await end('a1')
    add('a2', 'high', 'a')
    add('a3', 'high', 'a')
    await turns()
    expect({ started, back }).toEqual({ started: ['a1', 'a2'], back: ['a3'] })
    running.get('a2')!.progress('calling')
    await end('a2')
    for (const name of ['a4', 'a5', 'a6']) add(name, 'high', 'a')
    await turns()
    expect(started).toEqual(['a1', 'a2', 'a4', 'a5', 'a6'])
  })

  it('stays suspect after a job that made no call', async () => {
    const { add, hang, end, back } = harness(3)
    add('a1', 'high', 'a')
    await turns()
    await hang('a1')
    await end('a1')
    add('a2', 'high', 'a')
    await turns()
    await end('a2')
    add('a3', 'high', 'a')
    add('a4', 'high', 'a')
    await turns()
    expect(back).toEqual(['a4'])
  })

  it('keeps its slot when three jobs per slot have stalled, until one of them ends', async () => {
    const { add, hang, end, started } = harness(1)
    for (const name of ['a', 'b', 'c', 'd', 'e']) add(name)
    for (const name of ['a', 'b', 'c', 'd']) {
      await turns()
      await hang(name)
    }
    expect(started).toEqual(['a', 'b', 'c', 'd'])
    await end('a')
    await jest.advanceTimersByTimeAsync(STALL_MS)
    expect(started).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('reports the error of a stalled job', async () => {
    const { add, hang, end, errors, left } = harness(1)
    add('a')
    await turns()
    await hang('a')
    await end('a', new Error('late'))
    expect(left).toEqual(['a'])
    expect(errors).toEqual([new Error('late')])
  })
})

describe('a job of several certificates', () => {
  it('comes as early as that of its certificates with the fewest slots', async () => {
    const { add, end, started } = harness(2)
    for (const name of ['a1', 'a2', 'a3']) add(name, 'high', 'a')
    add('mixed', 'high', 'a', 'b', 'c')
    await turns()
    await end('a1')
    expect(started).toEqual(['a1', 'a2', 'mixed'])
  })

  it('counts for each of them', async () => {
    const { add, end, started } = harness(2)
    add('mixed', 'high', 'a', 'b')
    add('c1', 'high', 'c')
    add('b1', 'high', 'b')
    add('d1', 'high', 'd')
    await turns()
    await end('c1')
    await end('d1')
    expect(started).toEqual(['mixed', 'c1', 'd1', 'b1'])
  })

  it('keeps its slot while one of them gets answers, and then loses it', async () => {
    const { add, running, started, left } = harness(1)
    add('mixed', 'high', 'a', 'b', 'c')
    add('next', 'high', 'd')
    await turns()
    const { progress } = running.get('mixed')!
    for (const certificate of ['a', 'b', 'c']) progress('calling', certificate)
    for (let second = 0; second < 10; second++) {
      await jest.advanceTimersByTimeAsync(1000)
      progress('calling', 'b')
    }
    progress('working', 'c')
    expect(started).toEqual(['mixed'])
    progress('working', 'b')
    await jest.advanceTimersByTimeAsync(1000)
    expect({ started, left }).toEqual({ started: ['mixed', 'next'], left: ['mixed'] })
  })

  it('makes only those suspect that got no answers; their batches of the next jobs are put back', async () => {
    const { add, end, running, started, back, slots } = harness(1)
    add('mixed', 'high', 'a', 'b')
    await turns()
    const { progress } = running.get('mixed')!
    progress('calling', 'a')
    progress('calling', 'b')
    progress('working', 'b')
    await jest.advanceTimersByTimeAsync(STALL_MS)
    add('second', 'high', 'a', 'b')
    add('third', 'high', 'a')
    await turns()
    expect({ started, back }).toEqual({
      started: ['mixed', 'second with b'],
      back: ['third', 'a of second'],
    })
    await end('second')
    await end('mixed')
    await slots.stalledEnded()
    add('fourth', 'high', 'a', 'b')
    await turns()
    expect(started).toEqual(['mixed', 'second with b', 'fourth'])
  })

  it('trusts a suspect one when its own calls have ended, while those of others go on', async () => {
    const { add, end, hang, running, started, back } = harness(3)
    add('b')
    await turns()
    await hang('b')
    add('mixed', 'high', 'a', 'b')
    await turns()
    const { progress } = running.get('mixed')!
    progress('calling', 'a')
    progress('calling', 'b')
    add('early', 'high', 'b')
    progress('working', 'b')
    add('late', 'high', 'b')
    await turns()
    expect({ started, back }).toEqual({ started: ['b', 'mixed', 'late'], back: ['early'] })
    for (const name of ['b', 'mixed', 'late']) await end(name)
  })

  it('ends with its work, also if batches of a suspect one cannot be put back', async () => {
    const { add, end, hang, left, slots } = harness(1)
    add('a')
    await turns()
    await hang('a')
    const work = Promise.withResolvers<void>()
    let error: unknown
    const running = slots.run({
      lane: 'high',
      certificateIds: ['a', 'b'],
      work: () => work.promise,
      putBack: () => Promise.reject(new Error('not written')),
    })
    running.catch((reason) => {
      error = reason
    })
    await turns()
    expect({ left, error }).toEqual({ left: ['a'], error: undefined })
    work.resolve()
    await turns()
    expect(error).toEqual(new Error('not written'))
    await end('a')
  })
})
