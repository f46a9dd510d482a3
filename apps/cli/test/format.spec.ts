import type { TaskView } from '@herald/client'
import { describe, expect, it } from '@jest/globals'
import { bytes, duration, plural, table, timestamp } from '../src/format.ts'
import { percent } from '../src/progress.ts'
import { createRate } from '../src/rate.ts'
import { progressText } from '../src/task-format.ts'

describe('formatting', () => {
  it('of durations, sizes, counts and times', () => {
    expect([0.2, 59, 61, 3725].map(duration)).toEqual(['1 s', '59 s', '1 min 1 s', '1 h 2 min'])
    expect([0, 1023, 1024, 5 * 1024 ** 3].map(bytes)).toEqual(['0 B', '1023 B', '1.0 KiB', '5.0 GiB'])
    expect([plural(1, 'line'), plural(2000, 'line')]).toEqual(['1 line', '2,000 lines'])
    expect(timestamp(0)).toBe('1970-01-01 00:00:00 UTC')
  })

  it('of tables aligns numbers to the right and counts wide characters', () => {
    expect(
      table(
        ['name', 'n'],
        [
          ['推送', 5],
          ['abcde', 1200],
        ],
      ),
    ).toBe('name       n\n推送       5\nabcde  1,200')
  })

  it('of percentages shows 100 % only at the end', () => {
    expect([percent(0, 0), percent(999, 1000), percent(1000, 1000)]).toEqual(['0%', '99%', '100%'])
  })
})

describe('the rate', () => {
  it('covers the last seconds', () => {
    const rate = createRate(5_000)
    expect([0, 1000, 2000].map((now) => rate.at(now, now / 10))).toEqual([0, 100, 100])
    expect(rate.at(10_000, 200)).toBe(0)
  })
})

describe('the rest of a task', () => {
  it('has an estimate once the targets are known', () => {
    const task = {
      state: 'sending',
      target: 1000,
      sent: 400,
      received: 3,
      failed: 0,
      pending: 600,
    } as TaskView
    expect(progressText(task, 100)).toBe(
      'sending 100/s ETA 6 s | target 1,000 | sent 400 | received 3 | failed 0',
    )
    expect(progressText({ ...task, state: 'planning' }, 100)).toMatch(/^planning 100\/s \|/)
  })
})
