import type { Database } from '@herald/db/store'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { ANSWERS_WRITTEN_MS, createAnswers } from '../src/answers.ts'

type Statement = { name: string; values: unknown[][] }

describe('answers and figures', () => {
  const statements: Statement[] = []
  let fails = false
  const query = async (statement: Statement) => {
    if (fails) throw new Error('Postgres is away')
    statements.push(statement)
    return { rows: [] }
  }
  const db = { pool: { query } } as unknown as Database
  const batch = { appId: 'a', channel: 'apns', certificateId: 7 } as const
  beforeEach(() => {
    statements.splice(0)
    fails = false
    jest.useFakeTimers()
  })
  afterEach(() => {
    jest.useRealTimers()
  })
  const names = () => statements.map(({ name }) => name)

  it('are written together, figures at every fifth write, however many batches were settled', async () => {
    const answers = createAnswers(db, () => {})
    for (let second = 1; second <= 10; second++) {
      for (let push = 0; push < 50; push++) {
        answers.add(7, 1)
        answers.settled(batch, { sent: 1, failed: 0 })
      }
      await jest.advanceTimersByTimeAsync(ANSWERS_WRITTEN_MS)
    }
    expect(names()).toEqual(
      Array.from({ length: 10 }, (_, i) => (i % 5 === 4 ? 'add-figures' : 'add-answers')),
    )
    const [, , apps, channels, certificates, sent] = statements[4]!.values
    expect([apps, channels, certificates, sent]).toEqual([['a'], ['apns'], [7], [250]])
  })

  it('are all written at the end of a flush, also by a write that began earlier', async () => {
    const first = Promise.withResolvers<void>()
    let asked = 0
    const query = async () => {
      if (asked++ === 0) await first.promise
      return { rows: [] }
    }
    const slow = { pool: { query } }
    const answers = createAnswers(slow as unknown as Database, () => {})
    answers.add(7, 1)
    await jest.advanceTimersByTimeAsync(ANSWERS_WRITTEN_MS)
    answers.add(7, 1)
    await jest.advanceTimersByTimeAsync(ANSWERS_WRITTEN_MS)
    let isFlushed = false
    const flushed = answers.flush().then(() => {
      isFlushed = true
    })
    await jest.advanceTimersByTimeAsync(0)
    expect([asked, isFlushed]).toEqual([2, false])
    first.resolve()
    await flushed
  })

  it('write nothing while nothing happens', async () => {
    const answers = createAnswers(db, () => {})
    answers.settled(batch, { sent: 0, failed: 0 })
    answers.refused(batch, new Map())
    await jest.advanceTimersByTimeAsync(60_000)
    expect(names()).toEqual([])
    // Figures without answers, as of the native channel.
    answers.settled({ appId: 'a', channel: 'native', certificateId: null }, { sent: 2, failed: 0 })
    await jest.advanceTimersByTimeAsync(60_000)
    expect(names()).toEqual(['add-figures'])
  })

  it('keep answers that could not be written, and drop figures, which belong to another minute by then', async () => {
    const errors: unknown[] = []
    const answers = createAnswers(db, (error) => errors.push(error))
    answers.add(7, 3)
    answers.settled(batch, { sent: 3, failed: 0 })
    fails = true
    await answers.flush()
    expect(errors).toHaveLength(1)
    fails = false
    await answers.flush()
    expect(statements).toHaveLength(1)
    expect(statements[0]).toMatchObject({ name: 'add-answers', values: [[7], [3]] })
  })
})
