import { connect } from 'node:net'
import { until } from '@herald/testkit'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { type SimFrame, startSimServer } from '../src/frame/server.ts'
import { simRequestOf } from '../src/frame/state.ts'

let frame: SimFrame
let resets: number

beforeEach(async () => {
  resets = 0
  frame = await startSimServer({
    otherwise(request, { accepted, isAlive }) {
      const token = request.form().get('token')!
      if (!isAlive(token)) return { body: { dead: true } }
      accepted.record(request.query.get('task') ?? undefined, token)
      return { status: 201, body: { taken: token, type: request.mediaType } }
    },
    throttled: (request) => (request.path === '/auth' ? undefined : { body: 'slow down' }),
    unavailable: () => ({ status: 503, body: 'out of order' }),
    onReset() {
      resets++
    },
    maxBytes: 1000,
    rules: ['category_required'],
  })
})
afterEach(() => frame.close())

const send = (token: string, path = '/send?task=7') =>
  fetch(frame.url + path, { method: 'POST', body: new URLSearchParams({ token }) })
const sim = async (path: string, body?: unknown) => {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const reply = await fetch(`${frame.url}/_sim/${path}`, init)
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
}

describe('the frame of the simulators', () => {
  it('replies as the vendor and keeps a ledger by task', async () => {
    const reply = await send('A')
    expect(reply.status).toBe(201)
    expect(await reply.json()).toEqual({ taken: 'A', type: 'application/x-www-form-urlencoded' })
    await send('A')
    await send('B')
    await send('C', '/send')
    expect(await sim('ledger?task_id=7')).toMatchObject({ body: { accepted: 3, distinct: 2, duplicates: 1 } })
    expect(await sim('ledger?task_id=8')).toMatchObject({ body: { accepted: 0, distinct: 0, duplicates: 0 } })
    expect(await sim('ledger')).toMatchObject({ body: { accepted: 4, distinct: 3, duplicates: 1 } })
    expect(await sim('ledger/devices?task_id=7')).toMatchObject({ body: { tokens: ['A', 'B'] } })
    expect(await sim('ledger/tasks')).toMatchObject({
      body: {
        tasks: { 7: { accepted: 3, tokens: ['A', 'B'] }, '': { accepted: 1, tokens: ['C'] } },
        unheard: 0,
      },
    })
    expect(frame.ledger(7)).toEqual({ accepted: 3, distinct: 2, duplicates: 1 })
  })

  it('puts tokens on the dead list and clears everything on reset', async () => {
    expect(await sim('dead', { tokens: ['A'], since: 5 })).toMatchObject({ status: 200 })
    expect(frame.deadSince('A')).toBe(5)
    expect(await (await send('A')).json()).toEqual({ dead: true })
    await send('B')
    await sim('faults', { unavailable: 1 })
    await sim('reset', {})
    expect(resets).toBe(1)
    expect((await send('A')).status).toBe(201)
    expect(frame.ledger()).toEqual({ accepted: 1, distinct: 1, duplicates: 0 })
  })

  it('replies to faults as the vendor, except to the token exchange', async () => {
    frame.setFaults({ throttle: 1 })
    expect(await (await send('A')).text()).toBe('slow down')
    expect((await send('A', '/auth')).status).toBe(201)
    frame.setFaults({ unavailable: 1 })
    expect((await send('A')).status).toBe(503)
    expect(frame.ledger(7).accepted).toBe(0)
  })

  it('replies as a gateway in front of the vendor', async () => {
    frame.setFaults({ htmlForbidden: 1 })
    const page = await send('A')
    expect(page.status).toBe(403)
    expect(page.headers.get('content-type')).toBe('text/html')
    expect(await page.text()).toContain('<h1>403 Forbidden</h1>')
    frame.setFaults({ maxBodyBytes: 10 })
    expect((await send('A')).status).toBe(201)
    const large = await send('A'.repeat(10))
    expect(large.status).toBe(413)
    expect(await large.text()).toContain('<html>')
    expect(frame.ledger(7).accepted).toBe(1)
  })

  it('adds a Retry-After to its own 5xx, also of 0', async () => {
    frame.setFaults({ unavailable: 1 })
    expect((await send('A')).headers.get('retry-after')).toBeNull()
    frame.setFaults({ unavailable: 1, retryAfter: 0 })
    expect((await send('A')).headers.get('retry-after')).toBe('0')
  })

  it('gives a fixed reply to the requests of a path', async () => {
    const body = { reason: 'InvalidProviderToken' }
    await sim('faults', { reply: { status: 403, body, headers: { 'x-wave': '1' }, path: '/send' } })
    const reply = await send('A')
    expect([reply.status, reply.headers.get('x-wave')]).toEqual([403, '1'])
    expect(await reply.json()).toEqual(body)
    expect((await send('A', '/other')).status).toBe(201)
    frame.setFaults({ reply: { status: 200, body: 'text', share: 0 } })
    expect((await send('A')).status).toBe(201)
    frame.setFaults({ reply: { status: 403, every: 3 } })
    const statuses: number[] = []
    for (let i = 0; i < 6; i++) statuses.push((await send('A')).status)
    expect(statuses).toEqual([201, 201, 403, 201, 201, 403])
  })

  it('ends faults by itself', () => {
    jest.useFakeTimers()
    try {
      frame.setFaults({ unavailable: 1, forSeconds: 60 })
      jest.advanceTimersByTime(59_000)
      expect(frame.faults.unavailable).toBe(1)
      jest.advanceTimersByTime(1000)
      expect(frame.faults).toEqual({})
      // The time limit of earlier faults must not end later ones.
      frame.setFaults({ unavailable: 1, forSeconds: 60 })
      frame.setFaults({ throttle: 1 })
      jest.advanceTimersByTime(61_000)
      expect(frame.faults).toEqual({ throttle: 1 })
    } finally {
      jest.useRealTimers()
    }
  })

  it('switches on rules that only some accounts have', async () => {
    expect(frame.hasRule('category_required')).toBe(false)
    await sim('faults', { rules: ['category_required'] })
    expect(frame.hasRule('category_required')).toBe(true)
    expect(() => frame.setFaults({ rules: ['other'] })).toThrow('other is not a rule of this simulator')
  })

  it('counts requests to the vendor, also those without a reply of its own', async () => {
    await send('A')
    frame.setFaults({ htmlForbidden: 1 })
    await send('A')
    expect(frame.requests()).toBe(2)
    expect(await sim('requests')).toMatchObject({ body: { requests: 2 } })
    await sim('reset', {})
    expect(frame.requests()).toBe(0)
  })

  it('cuts the connection after processing the request', async () => {
    frame.setFaults({ cut: 1 })
    await expect(send('A')).rejects.toThrow()
    expect(frame.ledger(7).accepted).toBe(1)
    expect(await sim('ledger/tasks')).toMatchObject({
      body: { tasks: { 7: { tokens: ['A'], unheard: ['A'] } }, unheard: 1 },
    })
  })

  it('records the token of a reply that the client did not read', async () => {
    await send('B')
    const socket = connect(Number(new URL(frame.url).port), '127.0.0.1').pause()
    socket.write('POST /send?task=7 HTTP/1.1\r\nhost: a\r\ncontent-length: 7\r\n\r\ntoken=A')
    await until(() => frame.accepted.has('7', 'A'), { what: 'the request' })
    socket.destroy()
    await until(() => frame.accepted.byTask()[7]!.unheard.length > 0, { what: 'the reset' })
    expect(await sim('ledger/tasks')).toMatchObject({
      body: { tasks: { 7: { tokens: ['B', 'A'], unheard: ['A'] } }, unheard: 1 },
    })
  })

  it('sends no reply when it hangs, and still closes', async () => {
    frame.setFaults({ hang: 1 })
    const hanging = send('A').then(
      () => 'answered',
      () => 'cut',
    )
    await until(() => frame.requests() === 1, { what: 'the request' })
    await frame.close()
    expect(await hanging).toBe('cut')
  })

  it('waits before the reply with latencyMs', async () => {
    const real = setTimeout
    const waiting = Promise.withResolvers<() => void>()
    jest
      .spyOn(globalThis, 'setTimeout')
      .mockImplementation(((work: () => void, ms: number) =>
        ms === 80 ? waiting.resolve(work) : real(work, ms)) as typeof setTimeout)
    frame.setFaults({ latencyMs: 80 })
    const reply = send('A')
    const endWait = await waiting.promise
    jest.restoreAllMocks()
    expect(frame.ledger(7).accepted).toBe(0)
    endWait()
    expect((await reply).status).toBe(201)
  })

  it.each([
    ['faults', [], 'faults must be a JSON object'],
    ['faults', { throtle: 1 }, 'throtle is not a known fault'],
    ['faults', { cut: 2 }, 'cut must be a share from 0 to 1'],
    ['faults', { refuseAuth: 1 }, 'refuseAuth must be true or false'],
    ['faults', { latencyMs: -1 }, 'latencyMs must be a number, 0 or more'],
    ['faults', { htmlForbidden: 2 }, 'htmlForbidden must be a share from 0 to 1'],
    ['faults', { reply: 5 }, 'reply must be a JSON object'],
    ['faults', { reply: { status: 99 } }, 'reply.status must be an HTTP status from 200 to 599'],
    ['faults', { reply: { status: 403, text: '' } }, 'reply.text is not a known field'],
    ['faults', { reply: { status: 403, share: 2 } }, 'reply.share must be a share from 0 to 1'],
    ['faults', { reply: { status: 403, every: 0 } }, 'reply.every must be a whole number, 1 or more'],
    ['faults', { rules: 'all' }, 'rules must be a list of names'],
    ['faults', { rules: ['other'] }, 'other is not a rule of this simulator'],
    ['dead', { tokens: [1] }, 'tokens must be a list of strings'],
    ['dead', { tokens: [], since: 'now' }, 'since must be Unix ms'],
  ])('refuses %s %j with the reason', async (path, body, error) => {
    expect(await sim(path, body)).toEqual({ status: 400, body: { error } })
  })

  it('has no other routes, and refuses large bodies', async () => {
    expect(await sim('nothing')).toMatchObject({ status: 404 })
    expect((await send('x'.repeat(2000))).status).toBe(413)
  })

  it('uses a fixed port and fails if it is in use', async () => {
    const port = Number(new URL(frame.url).port)
    const start = startSimServer({
      port,
      otherwise: () => ({ body: '' }),
      throttled: () => undefined,
      unavailable: () => ({ body: '' }),
    })
    await expect(start).rejects.toThrow('EADDRINUSE')
  })

  it('accepts only the tokens of a registry', async () => {
    await frame.close()
    frame = await startSimServer({
      registry: ['A'],
      otherwise: (_, { isAlive }) => ({ body: [isAlive('A'), isAlive('B')] }),
      throttled: () => undefined,
      unavailable: () => ({ body: '' }),
    })
    expect(await (await send('A')).json()).toEqual([true, false])
  })
})

describe('forms', () => {
  const read = (body: string) => [...simRequestOf('POST', '/', {}, body).form()]

  it.each([
    '',
    'a=1',
    'a=1&a=2&&b',
    'a=b=c&=x&=',
    'a+b=%2B+%20&c=%E6%96%87',
    '?a=1',
    'a=%',
    'a=%FF&b=%zz',
    'a=ü😀',
  ])('reads %j as URLSearchParams does', (body) => {
    expect(read(body)).toEqual([...new URLSearchParams(body)])
  })

  it('reads any text as URLSearchParams does', () => {
    const piece = fc.constantFrom('a', '=', '&', '+', '%', '%41', '%e6%96%87', '%ff', '?', ' ', 'ü', '\ud800')
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const body = pieces.join('')
        expect(read(body)).toEqual([...new URLSearchParams(body)])
      }),
    )
  })
})
