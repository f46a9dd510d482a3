import { describe, expect, it } from '@jest/globals'
import { firstCreated } from '../src/erasure/person-devices.ts'

describe('the first device of a person', () => {
  it('is found among any number of them', () => {
    const devices = Array.from({ length: 500_000 }, (_, i) => ({ createdAt: 1_000_000 - i }))
    expect(firstCreated(devices)).toBe(500_001)
    expect(firstCreated([])).toBe(Number.POSITIVE_INFINITY)
  })
})
