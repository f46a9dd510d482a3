import { afterEach, describe, expect, it } from '@jest/globals'
import {
  ErrorCode,
  goawayFrame,
  rstStreamFrame,
  Setting,
  settingsFrame,
  windowUpdateFrame,
} from '../src/frames.ts'
import { makePools, multicast } from './support/pools.ts'
import { type RawConnection, startRawServer } from './support/raw-server.ts'
import { answer } from './support/reply-frames.ts'

const pools = makePools()
afterEach(() => pools.closeAll())

/** A seeded generator (mulberry32), so that a failing run can be repeated. */
function makeRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** Records what it processed; sends GOAWAY, refuses, delays, resets and disconnects at random. */
async function startRandomServer(random: () => number) {
  const processed = new Map<string, number>()
  const goaways = new Map<RawConnection, number>()
  const open = new Map<RawConnection, Set<number>>()
  let cuts = 0
  const server = await startRawServer({
    onConnect: ({ send }) =>
      send(settingsFrame([[Setting.maxConcurrentStreams, 60]]), windowUpdateFrame(0, 1_000_000_000)),
    onRequest: (connection, stream, path) => {
      if (stream > (goaways.get(connection) ?? Number.POSITIVE_INFINITY)) return
      const chance = random()
      if (chance < 0.03) return connection.send(rstStreamFrame(stream, ErrorCode.refusedStream))
      processed.set(path, (processed.get(path) ?? 0) + 1)
      if (chance < 0.04) return connection.send(rstStreamFrame(stream, ErrorCode.internalError))
      if (chance < 0.045 && cuts < 2) {
        cuts += 1
        return void connection.socket.destroy()
      }
      const pending = open.get(connection) ?? new Set()
      open.set(connection, pending.add(stream))
      if (chance < 0.055 && !goaways.has(connection)) {
        goaways.set(connection, stream)
        connection.send(goawayFrame(stream, ErrorCode.noError))
      }
      if (chance < 0.1)
        connection.send(settingsFrame([[Setting.maxConcurrentStreams, 1 + Math.floor(random() * 80)]]))
      const reply = () => {
        connection.send(answer(stream))
        pending.delete(stream)
        if (goaways.has(connection) && pending.size === 0) connection.socket.end()
      }
      if (chance < 0.6) reply()
      else setTimeout(reply, random() * 20)
    },
  })
  return { ...pools.keep(server), processed }
}

describe('a server that fails at random', () => {
  it.each([1, 2, 3, 4])(
    'never processes a request twice, and every report is true (seed %i)',
    async (seed) => {
      const { origin, processed } = await startRandomServer(makeRandom(seed))
      const pool = pools.pool({ origin, maxConnections: 3, maxReplays: 20 })
      const recorder = await multicast(pool, { count: 3_000 })
      expect(recorder.reported).toBe(3_000)
      expect(recorder.twice).toEqual([])
      const lies: string[] = []
      for (let index = 0; index < 3_000; index++) {
        const times = processed.get(`/to/${index}`) ?? 0
        const outcome = recorder.outcome(index)!
        const truthful =
          outcome === '200' ? times === 1 : outcome.startsWith('unsent') ? times === 0 : times <= 1
        if (!truthful) lies.push(`${index}: ${outcome}, processed ${times} times`)
      }
      expect(lies).toEqual([])
      const { 200: answered = 0, ...others } = recorder.tally()
      expect(answered).toBeGreaterThan(2_500)
      for (const outcome of Object.keys(others))
        expect(['unknown:reset', 'unknown:closed']).toContain(outcome)
      expect(pool.stats().replays).toBeGreaterThan(0)
    },
  )
})
