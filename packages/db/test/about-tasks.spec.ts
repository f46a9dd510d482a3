import { describe, expect, it } from '@jest/globals'
import { aboutTasks } from '../src/readings/about-tasks.ts'

describe('a statement about tasks', () => {
  const statement = aboutTasks((isWanted) => `SELECT FROM task t WHERE ${isWanted('t.id')}`)

  it('about all of them has no parameter, so that Postgres plans it for their number', () => {
    expect(statement()).toEqual({ text: 'SELECT FROM task t WHERE true', values: [] })
  })

  it('about some of them has their ids', () => {
    expect(statement([7])).toEqual({
      text: 'SELECT FROM task t WHERE t.id = ANY($1::bigint[])',
      values: [[7]],
    })
  })
})
