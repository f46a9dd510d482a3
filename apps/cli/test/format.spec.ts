import type { TaskView } from '@herald/client'
import { describe, expect, it, jest } from '@jest/globals'
import { rowOf } from '../src/commands/task.ts'
import { bytes, duration, plural, table, timestamp } from '../src/format.ts'
import { openIo } from '../src/io.ts'
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

  it('of tables replaces control characters', () => {
    expect(table(['title', 'n'], [['a\u001b[2Jb\nc\u009b', 1]])).toBe(
      'title      n\na\uFFFD[2Jb\uFFFDc\uFFFD  1',
    )
  })

  it('of percentages shows 100 % only at the end', () => {
    expect([percent(0, 0), percent(999, 1000), percent(1000, 1000)]).toEqual(['0%', '99%', '100%'])
  })
})

describe('output', () => {
  it('has no control characters except line ends, tabs and colours; JSON is exact', () => {
    let written = ''
    const write = (text: unknown) => {
      written += String(text)
      return true
    }
    const spies = [
      jest.spyOn(process.stdout, 'write').mockImplementation(write),
      jest.spyOn(process.stderr, 'write').mockImplementation(write),
    ]
    try {
      const line = '\u001b[31mred\u001b[39m\tone\r\ntwo\rthree\u001b[2J\u001b]0;title\u0007\u009b1m\u007f'
      const shown =
        '\u001b[31mred\u001b[39m\tone\r\ntwo\uFFFDthree\uFFFD[2J\uFFFD]0;title\uFFFD\uFFFD1m\uFFFD'
      openIo(false).say(line)
      openIo(false).note(line)
      expect(written).toBe(`${shown}\n${shown}\n`)
      written = ''
      openIo(true).record({ line })
      expect(JSON.parse(written)).toEqual({ line })
    } finally {
      for (const spy of spies) spy.mockRestore()
    }
  })
})

describe('the list of tasks', () => {
  const task = {
    task_id: 7,
    state: 'cancelled',
    title: 'Sale',
    created_at: 0,
    finished_at: 60,
    target: 100,
    sent: 20,
    received: 5,
    clicked: 1,
    failed: 5,
    expired: 3,
    cancelled: 72,
    pending: 0,
    waiting: 0,
    eta: null,
  } as TaskView
  const doneOf = (change: Partial<TaskView>) => rowOf({ ...task, ...change })[4]

  it('counts as done what was sent or failed', () => {
    expect(rowOf(task).slice(4)).toEqual(['25%', 100, 20, 5, 1, 5, 3, 72, '-'])
    const sent = { state: 'finished', sent: 95, expired: 0, cancelled: 0 }
    expect(doneOf(sent)).toBe('100%')
    expect(doneOf({ ...sent, sent: 90, pending: 5, waiting: 5 })).toBe('95%')
  })

  it('shows a task without devices as done only if it has finished', () => {
    const none = { target: 0, sent: 0, failed: 0, expired: 0, cancelled: 0 }
    expect([doneOf({ ...none, state: 'finished' }), doneOf(none)]).toEqual(['100%', '0%'])
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
