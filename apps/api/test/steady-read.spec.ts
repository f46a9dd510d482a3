import { describe, expect, it } from '@jest/globals'
import { createSteadyRead } from '../src/console/steady-read.ts'

describe('a steady read', () => {
  it('is shared while it runs, and good for a second or twenty times its own time', async () => {
    let time = 0
    let reads = 0
    const read = createSteadyRead(
      async () => {
        time += 200
        return ++reads
      },
      { now: () => time },
    )
    expect(await Promise.all([read('a'), read('a')])).toEqual([1, 1])
    time += 3900
    expect(await read('a')).toBe(1)
    time += 200
    expect(await read('a')).toBe(2)
    expect(await read('b')).toBe(3)
  })

  it('is tried again after a failure', async () => {
    let reads = 0
    const read = createSteadyRead(async () => {
      if (++reads === 1) throw new Error('away')
      return reads
    })
    await expect(read('a')).rejects.toThrow('away')
    expect(await read('a')).toBe(2)
  })
})
