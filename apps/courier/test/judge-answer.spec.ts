import { describe, expect, it } from '@jest/globals'
import { judgeAnswer } from '../src/judge-answer.ts'

const healthy = { attempts: 0, failingSeconds: 0 }

describe('the answer of an application’s server', () => {
  it.each([200, 201, 204, 299])('%i ends the request', (status) =>
    expect(judgeAnswer({ status }, healthy)).toEqual({ kind: 'sent', status }),
  )

  it.each([100, 301, 400, 404, 429, 500, 503])('%i is repeated', (status) =>
    expect(judgeAnswer({ status }, healthy)).toEqual({
      kind: 'failed',
      status,
      error: expect.stringContaining(`status ${status}`),
      pauseSeconds: expect.any(Number),
    }),
  )

  it('repeats after pauses that double up to an hour, of which a random half is left out', () => {
    const pauses = (random: number) =>
      Array.from({ length: 15 }, (_, attempts) => {
        const judged = judgeAnswer({ error: 'none' }, { attempts, failingSeconds: 0 }, () => random)
        return judged.kind === 'failed' ? judged.pauseSeconds : undefined
      })
    expect(pauses(1)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600, 3600])
    expect(pauses(0)).toEqual(pauses(1).map((pause) => pause! / 2))
  })

  it('waits as long as the server asks, but at most an hour', () => {
    const pause = (retryAfter: number) =>
      judgeAnswer({ status: 503, retryAfter }, healthy, () => 0) as { pauseSeconds: number }
    expect(pause(90).pauseSeconds).toBe(90)
    expect(pause(7200).pauseSeconds).toBe(3600)
    expect(pause(0.1).pauseSeconds).toBe(0.5)
  })

  it('rests after 72 hours, not before', () => {
    const rest = (failingSeconds: number) => judgeAnswer({ status: 500 }, { attempts: 90, failingSeconds })
    expect(rest(72 * 3600 - 1)).not.toHaveProperty('rest')
    expect(rest(72 * 3600)).toMatchObject({ rest: { cause: 'failing' } })
  })

  it('rests at once after 410', () =>
    expect(judgeAnswer({ status: 410 }, healthy)).toMatchObject({ rest: { cause: 'gone' } }))
})
