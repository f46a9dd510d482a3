import { describe, expect, it } from '@jest/globals'
import { createUnrecorded } from '../src/unrecorded.ts'

describe('unrecorded acknowledgements', () => {
  it('are known until they are recorded, as often as they were repeated', () => {
    const unrecorded = createUnrecorded()
    unrecorded.add(1, 2)
    unrecorded.add(1, 2)
    expect([unrecorded.has(1, 2), unrecorded.has(2, 1), unrecorded.has(12, 2)]).toEqual([true, false, false])
    unrecorded.remove(1, 2)
    expect(unrecorded.has(1, 2)).toBe(true)
    unrecorded.remove(1, 2)
    expect(unrecorded.has(1, 2)).toBe(false)
  })

  it('are known to the end of a read that began before they were recorded, also if the read fails', async () => {
    const unrecorded = createUnrecorded()
    unrecorded.add(1, 2)
    const failed = unrecorded.keptDuring(async () => {
      unrecorded.remove(1, 2)
      expect(unrecorded.has(1, 2)).toBe(true)
      throw new Error('no database')
    })
    await expect(failed).rejects.toThrow('no database')
    expect(unrecorded.has(1, 2)).toBe(false)
  })
})
