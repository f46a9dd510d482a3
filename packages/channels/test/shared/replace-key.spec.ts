import type { Message } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { replaceNumber, replaceText, replaceWord } from '../../src/shared/replace-key.ts'
import { sampleTask } from '../samples.ts'

const task = (taskId: number, message: Partial<Message> = {}) => sampleTask(message, { taskId })
const keysOf = (one: ReturnType<typeof task>) => [replaceText(one), replaceNumber(one), replaceWord(one, 8)]

describe('the replace key', () => {
  it('of a task without a collapse key is its own', () => {
    expect(keysOf(task(4503599627370497))).toEqual(['t4503599627370497', 2097154, 'e53un18h'])
    expect(replaceNumber(task(2147483646))).toBe(2147483647)
    expect(replaceNumber(task(2147483647))).toBe(1)
  })

  it('with a collapse key is the same for all tasks with it, and another for another key', () => {
    const first = keysOf(task(1, { collapseKey: 'order-77' }))
    expect(first).toEqual(keysOf(task(2, { collapseKey: 'order-77' })))
    expect(first[0]).toBe('order-77')
    const others = keysOf(task(1, { collapseKey: 'order-78' }))
    for (const [i, key] of first.entries()) expect(others[i]).not.toBe(key)
  })

  it('has the form that the vendors ask for, whatever the collapse key is', () => {
    const keys = Array.from({ length: 2000 }, (_, i) => task(1, { collapseKey: `ключ ${i} 😀` }))
    for (const one of keys) {
      expect(Number.isInteger(replaceNumber(one))).toBe(true)
      expect(replaceNumber(one)).toBeGreaterThanOrEqual(1)
      expect(replaceNumber(one)).toBeLessThanOrEqual(2147483647)
      expect(replaceWord(one, 8)).toMatch(/^[\w-]{8}$/)
    }
    expect(new Set(keys.map(replaceNumber)).size).toBe(2000)
  })

  it('of a recall is that of the recalled task', () => {
    expect(keysOf(task(9, { recall: { taskId: 4 } }))).toEqual(keysOf(task(4)))
    expect(keysOf(task(9, { recall: { taskId: 4 }, collapseKey: 'a' }))).toEqual(
      keysOf(task(4, { collapseKey: 'a' })),
    )
  })
})
