import { describe, expect, it } from '@jest/globals'
import { Failure } from '../src/codes.ts'
import { createCallTurns } from '../src/http/call-turns.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Enters `count` calls and records the order in which they begin. */
function enterAll(calls: [appId: string, count: number][]) {
  const turns = createCallTurns()
  const begun: string[] = []
  const refused: unknown[] = []
  for (const [appId, count] of calls)
    for (let n = 0; n < count; n++)
      turns.enter(appId).then(
        () => begun.push(appId),
        (error) => refused.push(error),
      )
  return { turns, begun, refused }
}

describe('calls', () => {
  it('begin at once while few arrive', async () => {
    const { begun } = enterAll([['a', 16]])
    await Promise.resolve()
    await Promise.resolve()
    expect(begun).toHaveLength(16)
  })

  it('begin sixteen per turn of the event loop', async () => {
    const { begun } = enterAll([['a', 100]])
    await turn()
    expect(begun.length).toBeGreaterThanOrEqual(16)
    expect(begun.length).toBeLessThanOrEqual(32)
    while (begun.length < 100) await turn()
  })

  it('of an application wait for one call of each other, not for all that came before', async () => {
    const { begun } = enterAll([
      ['flood', 2000],
      ['other', 1],
    ])
    while (!begun.includes('other')) await turn()
    expect(begun.indexOf('other')).toBeLessThan(32)
  })

  it('are refused when too many of their application wait', async () => {
    const { turns, begun, refused } = enterAll([['flood', 6000]])
    await turn()
    expect(refused).toHaveLength(6000 - 5000 - 16)
    expect(refused[0]).toBeInstanceOf(Failure)
    expect(refused[0]).toMatchObject({ code: 50301, retryAfter: 2 })
    await turns.enter('other')
    while (begun.length < 5016) await turn()
  })
})
