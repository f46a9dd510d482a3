import { describe, expect, it } from '@jest/globals'
import { isUnfinished, knownIn, newTurn, step, type Turn } from '../src/turn.ts'

describe('a turn', () => {
  /** Looks at three of these ids at a time and finds the even ones. */
  const lookAmong = (ids: number[]) => async (after: number) => {
    const looked = ids.filter((id) => id > after).slice(0, 3)
    return { found: looked.filter((id) => id % 2 === 0), next: looked.length < 3 ? undefined : looked.at(-1) }
  }
  const tasks = newTurn()
  const isLeft = (certificates: Turn) => isUnfinished({ certificates, tasks })

  it('continues where the last step ended, and begins again after the end', async () => {
    const turn = newTurn()
    const look = lookAmong([1, 2, 3, 4, 5, 6, 8])
    expect(isLeft(turn)).toBe(false)
    expect(await step(turn, look)).toEqual([2])
    expect(isLeft(turn)).toBe(true)
    expect(await step(turn, look)).toEqual([4, 6])
    expect(await step(turn, look)).toEqual([8])
    expect(isLeft(turn)).toBe(false)
    expect(await step(turn, look)).toEqual([2])
  })

  it('knows how many there are, also while a new turn has found few', async () => {
    const turn = newTurn()
    const known: number[] = []
    for (let n = 0; n < 4; n++) {
      await step(turn, lookAmong([2, 4, 6, 8, 10, 12, 14]))
      known.push(knownIn(turn))
    }
    expect(known).toEqual([3, 6, 7, 7])
    // A turn that finds fewer is believed when it ends.
    for (let n = 0; n < 2; n++) await step(turn, lookAmong([8]))
    expect(knownIn(turn)).toBe(1)
  })
})
