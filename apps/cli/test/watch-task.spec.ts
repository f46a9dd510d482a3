import { HeraldError, type HeraldServer, type TaskView } from '@herald/client'
import { describe, expect, it } from '@jest/globals'
import type { Io } from '../src/io.ts'
import { type WatchOptions, watchTask } from '../src/watch-task.ts'

const task = (change: Partial<TaskView>) =>
  ({
    task_id: 7,
    state: 'sending',
    target: 10,
    sent: 0,
    received: 0,
    failed: 0,
    expired: 0,
    cancelled: 0,
    unreachable: 0,
    pending: 10,
    waiting: 0,
    begin_at: 100,
    finished_at: null,
    rate: 0,
    eta: null,
    ...change,
  }) as TaskView
const finished = task({ state: 'finished', sent: 10, pending: 0, finished_at: 103 })

/** A server that returns `answers` in turn, and the output of watching it. */
function fakeServer(answers: (TaskView | undefined | Error)[]) {
  const written = { records: [] as TaskView[], said: [] as string[], noted: [] as string[] }
  const server = {
    async task() {
      const answer = answers.shift()
      if (answer instanceof Error) throw answer
      return answer
    },
    taskDetail: async () => [{ task_id: 7, oppo_target: 10, oppo_sent: 10, oppo_received: 4 }],
  } as unknown as HeraldServer
  const io: Io = {
    json: true,
    live: false,
    say: (line) => void written.said.push(line),
    note: (line) => void written.noted.push(line),
    record: (value) => void written.records.push(value as TaskView),
    paint: (_style, text) => text,
  }
  return { written, watch: (options?: WatchOptions) => watchTask({ server, io }, 7, options) }
}

describe('watching a task', () => {
  it('records every change once, and the end with the channels', async () => {
    const { written, watch } = fakeServer([
      task({}),
      task({ rate: 5, eta: 3 }),
      task({ sent: 4, pending: 6 }),
      finished,
    ])
    await watch()
    expect(written.records.map(({ sent }) => sent)).toEqual([0, 4, 10])
    expect(written.records.at(-1)).toMatchObject({
      state: 'finished',
      channels: [{ channel: 'oppo', target: 10, sent: 10, received: 4 }],
    })
    expect(written.said[0]).toBe('finished after 3 s: 10 devices, 10 sent.')
  })

  it('continues after a restart of Herald', async () => {
    const away = [
      new TypeError('fetch failed'),
      new HeraldError(50301, 503, 'Herald is starting.'),
      new HeraldError(50201, 502, 'Herald could not be reached.'),
    ]
    const { written, watch } = fakeServer([task({}), ...away, finished])
    await watch()
    expect(written.noted).toEqual(['Herald does not respond; waiting for it.'])
    expect(written.records.at(-1)).toMatchObject({ state: 'finished' })
  })

  it.each([
    ['a server that never responded', [new TypeError('fetch failed')], 'fetch failed'],
    [
      'a refusal',
      [task({}), new HeraldError(40102, 401, 'The token is not valid.')],
      'The token is not valid.',
    ],
    ['an unknown task', [undefined], 'The task 7 does not exist.'],
  ])('does not wait for %s', async (_name, answers, sentence) => {
    await expect(fakeServer(answers).watch()).rejects.toThrow(sentence)
  })

  const waiting = task({ state: 'finished', sent: 8, pending: 2, waiting: 2, finished_at: 103 })

  it('ends when only offline devices are left, and says how many', async () => {
    const { written, watch } = fakeServer([task({}), waiting])
    await watch()
    expect(written.said[0]).toBe('finished after 3 s: 10 devices, 8 sent, 2 waiting for their devices.')
    expect(written.noted[0]).toMatch(/^2 devices offline/)
  })

  it('waits for offline devices if it is asked to', async () => {
    const { written, watch } = fakeServer([task({}), waiting, waiting, finished])
    await watch({ offline: true })
    expect(written.records.map(({ sent }) => sent)).toEqual([0, 8, 10])
    expect(written.noted).toEqual([])
  })

  it('fails for a cancelled task', async () => {
    const { watch } = fakeServer([task({ state: 'cancelled', pending: 0, cancelled: 10, finished_at: 101 })])
    await expect(watch()).rejects.toMatchObject({ name: 'SilentFailure' })
  })
})
