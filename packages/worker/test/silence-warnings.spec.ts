import { describe, expect, it } from '@jest/globals'
import { createSilenceWarnings, WARNING_MS } from '../src/silence-warnings.ts'

const reason = { code: 'fcm.http_503', text: 'HTTP 503' }

function watched() {
  const lines: Record<string, unknown>[] = []
  const timers: (() => void)[] = []
  const warnings = createSilenceWarnings(
    (fields) => void lines.push(fields as Record<string, unknown>),
    (work, ms) => {
      expect(ms).toBe(WARNING_MS)
      timers.push(work)
    },
  )
  return { warnings, lines, minuteEnds: () => timers.shift()!() }
}

describe('warnings about a vendor that does not answer', () => {
  it('are written at once, and then once per minute with what was noted since', () => {
    const { warnings, lines, minuteEnds } = watched()
    warnings.note(1, reason, [7])
    expect(lines).toEqual([{ reason, tasks: [7], taskCount: 1, certificateCount: 1 }])
    const other = { code: 'fcm.call_failed', text: 'ENOTFOUND' }
    warnings.note(1, reason, [7, 8])
    warnings.note(2, other, [8, 9])
    expect(lines).toHaveLength(1)
    minuteEnds()
    expect(lines[1]).toEqual({ reason: other, tasks: [7, 8, 9], taskCount: 3, certificateCount: 2 })
    minuteEnds()
    expect(lines).toHaveLength(2)
    warnings.note(1, reason, [10])
    expect(lines[2]).toMatchObject({ tasks: [10] })
  })

  it('name at most 20 tasks, and tell how many there are', () => {
    const { warnings, lines, minuteEnds } = watched()
    warnings.note(1, reason, [1])
    warnings.note(
      1,
      reason,
      Array.from({ length: 12_000 }, (_, i) => i),
    )
    minuteEnds()
    expect(lines[1]).toMatchObject({ tasks: Array.from({ length: 20 }, (_, i) => i), taskCount: 12_000 })
  })

  it('are not lost when the process ends', () => {
    const { warnings, lines } = watched()
    warnings.note(1, reason, [1])
    warnings.note(1, reason, [2])
    warnings.end()
    expect(lines[1]).toMatchObject({ tasks: [2] })
    warnings.end()
    expect(lines).toHaveLength(2)
  })
})
