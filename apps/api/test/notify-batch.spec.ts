import { AcceptInDoubt } from '@herald/db/tasks'
import type { NewTask } from '@herald/domain'
import { AcceptorFull } from '@herald/plan'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Failure } from '../src/codes.ts'
import { openTestApi, type TestApi } from './harness.ts'

let api: TestApi
let probed: string[] = []
/** Set: accepting a task with this title fails with this error. */
let fails: ((title: string) => Error | undefined) | undefined
let accepted: NewTask[] = []

beforeAll(async () => {
  api = await openTestApi({
    overrides: {
      async probe(url) {
        probed.push(url)
        return url.includes('missing') ? 'responds with status 404' : undefined
      },
    },
  })
  const { accept } = api.deps.acceptor
  api.deps.acceptor.accept = async (task) => {
    const error = fails?.(task.message.title ?? '')
    if (error) throw error
    accepted.push(task)
    return accept(task)
  }
})
afterAll(() => api.close())
beforeEach(() => {
  fails = undefined
  accepted = []
  probed = []
})

const batch = (list: unknown, headers?: Record<string, string>) =>
  api.call('/push/notify/batch', { body: { list }, headers })
const push = (title: string, request_id?: string) => ({
  audience: { alias: ['nobody'] },
  message: { title },
  ...(request_id && { setting: { request_id } }),
})
const tasksOf = async (requestId: string) =>
  (
    await api.context.db.pool.query('SELECT id, message FROM task WHERE app_id = $1 AND request_id = $2', [
      api.appId,
      requestId,
    ])
  ).rows as { id: number; message: { title: string } }[]

describe('POST /push/notify/batch', () => {
  it('accepts the good entries and returns codes for the others, in order', async () => {
    const { code, data } = await batch([
      push('one'),
      { audience: 'nobody', message: { title: 'x' } },
      { audience: 'all', message: {} },
      { audience: { alias: ['a'] }, message: { title: 'x' }, colour: 'red' },
      { audience: { alias: ['a'] }, message: { title: 'x\u0000' } },
      'text',
      null,
      [push('in a list')],
      { audience: { alias: ['a'] }, message: { title: 'x', show_end_time: 1 } },
      push('two'),
    ])
    expect(code).toBe(200)
    expect(data.list.map((entry: { code?: number }) => entry.code)).toEqual([
      undefined,
      40003,
      40004,
      40001,
      40002,
      40001,
      40001,
      40001,
      40002,
      undefined,
    ])
    expect(data.list[3].message).toBe('colour is not a field of the body.')
    expect(data.list[8].message).toBe('message.show_end_time must be in the future.')
    expect(accepted.map(({ message }) => message.title)).toEqual(['one', 'two'])
    const ids = [data.list[0].task_id, data.list[9].task_id]
    const { data: known } = await api.call('/push/task/detail', { body: { list: ids } })
    expect(known.map(({ task_id }: { task_id: number }) => task_id)).toEqual(ids)
  })

  it('keeps the digits of each ext, also beside entries without one or with a wrong one', async () => {
    const raw = `{"list":[
      {"audience":{"alias":["a"]},"message":{"ext":{"n":1.10}}},
      {"message.ext":{"n":2},"audience":"all","message":{"title":"x"}},
      {"audience":{"alias":["a"]},"message":{"title":"x","ext":[3]}},
      {"audience":{"alias":["a"]},"message":{"title":"none"}},
      {"audience":{"alias":["a"]},"message":{"ext":{"n":90071992547409931}}}]}`
    const { data } = await api.call('/push/notify/batch', {
      raw,
      headers: { 'content-type': 'application/json' },
    })
    expect(data.list.map((entry: { code?: number }) => entry.code)).toEqual([
      undefined,
      40001,
      40002,
      undefined,
      undefined,
    ])
    expect(accepted.map(({ message }) => message.ext)).toEqual([
      '{"n":1.10}',
      undefined,
      '{"n":90071992547409931}',
    ])
  })

  it('returns the earlier task of a request id, from before and from the same list', async () => {
    const first = await api.call('/push/notify', { body: push('first', 'list-known') })
    const { data } = await batch([
      push('again', 'list-known'),
      { ...push('wrong', 'list-new'), audience: {} },
      push('new', 'list-new'),
      push('newer', 'list-new'),
      push('other', 'list-other'),
    ])
    const [again, wrong, fresh, repeated, other] = data.list
    expect(again).toEqual({ task_id: first.data.task_id, repeated: true })
    expect(wrong.code).toBe(40003)
    expect(repeated).toEqual({ task_id: fresh.task_id, repeated: true })
    expect(other.repeated).toBeUndefined()
    expect(await tasksOf('list-new')).toMatchObject([{ id: fresh.task_id, message: { title: 'new' } }])
    // Again: nothing new, and checks that depend on the time do not matter.
    const late = { ...push('other', 'list-other'), message: { title: 'other', show_end_time: 1 } }
    const repeat = await batch([push('new', 'list-new'), late])
    expect(repeat.data.list).toEqual([
      { task_id: fresh.task_id, repeated: true },
      { task_id: other.task_id, repeated: true },
    ])
    expect(await tasksOf('list-new')).toHaveLength(1)
    // Of one list too, but not if the first was refused for its time.
    const twice = await batch([
      push('first', 'list-twice'),
      { ...push('late', 'list-twice'), message: { title: 'late', show_end_time: 1 } },
      { ...push('refused', 'list-refused'), message: { title: 'refused', show_end_time: 1 } },
      push('good', 'list-refused'),
    ])
    const [kept, again2, refused, good] = twice.data.list
    expect(again2).toEqual({ task_id: kept.task_id, repeated: true })
    expect(refused.code).toBe(40002)
    expect(good).toEqual({ task_id: expect.any(Number) })
  })

  it('keeps order, request ids and ext over the parts of a long list', async () => {
    const list: object[] = Array.from({ length: 600 }, (_, i) => ({
      ...push(`p${i}`, `list-p${i}`),
      message: { title: `p${i}`, ext: { i } },
    }))
    // The same request id in another part, one after an entry that was refused, and one alone.
    list[300] = push('repeats', 'list-p3')
    list[10] = { ...push('wrong', 'list-p599'), audience: {} }
    list[301] = { audience: 'nobody', message: { title: 'x' } }
    const { data } = await batch(list)
    expect(data.list).toHaveLength(600)
    expect(data.list[300]).toEqual({ task_id: data.list[3].task_id, repeated: true })
    expect([data.list[10].code, data.list[301].code]).toEqual([40003, 40003])
    expect(data.list[599].repeated).toBeUndefined()
    expect(accepted).toHaveLength(597)
    for (const { message } of accepted) expect(message.ext).toBe(`{"i":${message.title!.slice(1)}}`)
    const ids = data.list.map(({ task_id }: { task_id?: number }) => task_id).filter(Boolean)
    expect(new Set(ids).size).toBe(597)
    const again = await batch(list)
    expect(again.data.list[599]).toEqual({ task_id: data.list[599].task_id, repeated: true })
  })

  it('pushes each request id once when the same list arrives many times at once', async () => {
    const list = Array.from({ length: 40 }, (_, i) => push(`c${i}`, `list-c${i}`))
    const answers = await Promise.all(Array.from({ length: 6 }, () => batch(list)))
    const ids = answers.map(({ data }) => data.list.map(({ task_id }: { task_id: number }) => task_id))
    for (const one of ids) expect(one).toEqual(ids[0])
    expect(new Set(ids[0]).size).toBe(40)
    const fresh = answers.flatMap(({ data }) => data.list).filter(({ repeated }) => repeated === undefined)
    expect(fresh).toHaveLength(40)
  })

  it('says of each entry that could not be written whether it may have been accepted', async () => {
    fails = (title) =>
      title === 'doubt'
        ? new AcceptInDoubt('lost')
        : title === 'full'
          ? new AcceptorFull('full')
          : title === 'down'
            ? Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
            : undefined
    const { code, data } = await batch([push('good'), push('doubt', 'd'), push('full'), push('down')])
    expect(code).toBe(200)
    expect(data.list[0].task_id).toBeGreaterThan(0)
    expect(data.list.slice(1)).toEqual([
      { code: 50001, message: expect.stringContaining('may have been accepted') },
      { code: 50301, message: expect.stringContaining('not accepted') },
      { code: 50301, message: expect.stringContaining('no push was accepted') },
    ])
  })

  it('fails as a whole when the database is unreachable and nothing was accepted', async () => {
    fails = () => Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    expect(await batch([push('a'), { audience: 'x' }, push('b')])).toMatchObject({ code: 50301, data: null })
  })

  it('keeps the entries that were accepted before the database fails', async () => {
    const { pool } = api.context.db
    const query = pool.query
    let lookUps = 0
    pool.query = function (this: typeof pool, ...args: unknown[]) {
      const isSecond = (args[0] as { name?: string }).name === 'find-requests' && ++lookUps === 2
      if (isSecond) return Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
      return Reflect.apply(query, this, args)
    } as typeof pool.query
    const soon = Math.floor(Date.now() / 1000) + 3600
    const list = Array.from({ length: 300 }, (_, i) => ({
      ...push(`q${i}`, `list-q${i}`),
      message: { title: `q${i}`, show_end_time: soon },
    }))
    const { code, data } = await batch(list).finally(() => {
      pool.query = query
    })
    expect([code, lookUps]).toEqual([200, 2])
    expect(data.list.slice(0, 256)).toEqual(Array(256).fill({ task_id: expect.any(Number) }))
    expect(data.list.slice(256)).toEqual(Array(44).fill({ code: 50301, message: expect.any(String) }))
    const again = await batch(list)
    expect(again.data.list[255]).toEqual({ task_id: data.list[255].task_id, repeated: true })
    expect(again.data.list[256]).toEqual({ task_id: expect.any(Number) })
  })

  it('is not refused in the middle because too many calls wait', async () => {
    const { turns } = api.deps
    let asked = 0
    api.deps.turns = {
      async enter() {
        if (++asked > 1) throw new Failure(50301, 'full')
      },
    }
    try {
      const { data } = await batch(Array.from({ length: 20 }, (_, i) => push(`turn ${i}`)))
      expect(data.list).toEqual(Array(20).fill({ task_id: expect.any(Number) }))
      expect(asked).toBeGreaterThan(1)
    } finally {
      api.deps.turns = turns
    }
  })

  it('fetches a picture once, however many entries show it', async () => {
    const image = (name: string) => ({
      audience: { alias: ['a'] },
      message: { type: 'image', attachment_url: `https://example.com/${name}.png` },
    })
    const { data } = await batch([image('a'), image('a'), image('missing'), image('missing')])
    expect(probed.sort()).toEqual(['https://example.com/a.png', 'https://example.com/missing.png'])
    expect(data.list.map((entry: { code?: number }) => entry.code)).toEqual([
      undefined,
      undefined,
      40002,
      40002,
    ])
  })

  it('lets the single push of another application pass', async () => {
    const other = await api.createApplication('list-other')
    const list = Array.from({ length: 1000 }, (_, i) => push(`flood ${i}`))
    const lists = Promise.all([batch(list), batch(list), batch(list)]).then(() => 'lists')
    const single = api
      .call('/push/notify', { body: push('single'), appId: other.appId, token: other.token })
      .then(({ code }) => code)
    expect(await Promise.race([lists, single])).toBe(200)
    await lists
  })

  it('sends for the group of the header', async () => {
    const group = await api.call('/admin/group', { body: { name: 'list-group' } })
    await batch([push('grouped', 'list-grouped')], { group_id: String(group.data.group_id) })
    expect(accepted[0]?.groupId).toBe(group.data.group_id)
  })

  it('refuses lists that are too long, too large, blank or no lists, as a whole', async () => {
    const long = await batch(Array.from({ length: 1001 }, () => push('x')))
    expect(long).toMatchObject({ code: 40002, message: 'list must have at most 1000 items.' })
    expect((await batch([])).code).toBe(40002)
    expect((await batch('x')).code).toBe(40002)
    expect((await api.call('/push/notify/batch', { body: { list: [], more: 1 } })).code).toBe(40001)
    const large = await batch([push('x'.repeat(4 * 1024 * 1024))])
    expect(large.code).toBe(41301)
    expect(accepted).toEqual([])
  })

  it('refuses an entry that notify would refuse for its size', async () => {
    const { data } = await batch([push('€'.repeat(400_000)), push('small')])
    expect(data.list[0].code).toBe(41301)
    expect(data.list[1].task_id).toBeGreaterThan(0)
  })
})
