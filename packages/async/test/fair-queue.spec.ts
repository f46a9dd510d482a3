import { describe, expect, it } from '@jest/globals'
import { createFairQueue } from '../src/fair-queue.ts'

const queueOf = (items: [key: string, count: number][], limits = { perKey: 100, all: 1000 }) => {
  const queue = createFairQueue<string>(limits)
  for (const [key, count] of items) for (let n = 1; n <= count; n++) queue.add(key, `${key}${n}`)
  return queue
}

describe('a fair queue', () => {
  it('takes one item of each key in turn, each in order', () => {
    const queue = queueOf([
      ['a', 5],
      ['b', 2],
      ['c', 1],
    ])
    expect(queue.take(5)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2'])
    expect(queue.take(5)).toEqual(['a3', 'a4', 'a5'])
    expect([queue.take(5), queue.size()]).toEqual([[], 0])
  })

  it('continues with the key whose turn is next', () => {
    const queue = queueOf([
      ['a', 3],
      ['b', 3],
    ])
    expect(queue.take(1)).toEqual(['a1'])
    expect(queue.take(1)).toEqual(['b1'])
    queue.add('c', 'c1')
    expect(queue.take(3)).toEqual(['a2', 'b2', 'c1'])
  })

  it('takes the items of an only key in order, and forgets a key without items', () => {
    const queue = queueOf([['a', 5]])
    expect([queue.take(2), queue.size()]).toEqual([['a1', 'a2'], 3])
    expect([queue.take(10), queue.size()]).toEqual([['a3', 'a4', 'a5'], 0])
    queue.add('b', 'b1')
    queue.add('a', 'a6')
    expect([queue.take(10), queue.size()]).toEqual([['b1', 'a6'], 0])
  })

  it('gives a key without waiting items its turn after the others', () => {
    const queue = queueOf([['a', 60]])
    queue.add('b', 'b1')
    expect(queue.take(64).indexOf('b1')).toBe(1)
  })

  it('refuses an item of a key that has too many', () => {
    const queue = queueOf([['a', 3]], { perKey: 3, all: 10 })
    expect(queue.add('a', 'a4')).toBe('a4')
    expect(queue.add('b', 'b1')).toBeUndefined()
  })

  it('refuses the newest item of the key with the most when all have too many', () => {
    const queue = queueOf(
      [
        ['a', 7],
        ['b', 3],
      ],
      { perKey: 8, all: 10 },
    )
    expect(queue.add('c', 'c1')).toBe('a7')
    expect(queue.add('b', 'b4')).toBe('a6')
    expect(queue.size()).toBe(10)
    expect(queue.add('a', 'a8')).toBe('a8')
    expect(queue.add('b', 'b5')).toBe('b5')
    expect(queue.take(20)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'b3', 'a4', 'b4', 'a5'])
  })
})
