import { connect } from 'node:net'
import { type TokenBuckets, tokenBuckets } from '@herald/async'
import { createLogger } from '@herald/telemetry'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import jwt from 'jsonwebtoken'
import { newTokenKey } from '../src/auth/tokens.ts'
import { type BodyBudget, createBodyBudget } from '../src/http/body-budget.ts'
import { freeLimits, openTestApi, type TestApi } from './harness.ts'
import { sendPipelined } from './pipelined-client.ts'

const MIB = 1024 * 1024
const lines: string[] = []
const log = createLogger({
  name: 'spec',
  level: 'warn',
  destination: { write: (line) => void lines.push(line) },
})

/** Sends a request in one write and returns the answer; the connection stays open until the server closes it. */
function begin(port: number, head: string[], body: Uint8Array = new Uint8Array()) {
  const socket = connect(port, '127.0.0.1')
  const sent = { socket, heard: '' }
  socket.setEncoding('latin1').on('data', (text: string) => {
    sent.heard += text
  })
  socket.on('error', () => {})
  // In one write without a copy: this process must not hold the bodies either.
  socket.cork()
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.write(body)
  socket.uncork()
  return sent
}

const isAnswered = ({ heard }: { heard: string }) => heard.includes('\r\n\r\n{')

describe('an unfinished body', () => {
  let api: TestApi
  let callback: string
  /** Bodies that have a share of a budget, and those that had one. */
  let shares = 0
  const counted = (budget: BodyBudget): BodyBudget => ({
    open(address) {
      const share = budget.open(address)
      shares++
      return share
    },
  })
  const open: { socket: { destroy(): void } }[] = []
  beforeAll(async () => {
    const small = { perAddress: { bodies: 5, bytes: MIB }, all: { bodies: 8, bytes: 2 * MIB }, log }
    api = await openTestApi({
      env: { HERALD_TRUSTED_PROXIES: '1' },
      overrides: {
        log,
        bodies: { callback: counted(createBodyBudget(small)), anonymous: counted(createBodyBudget(small)) },
      },
    })
    const saved = await api.client.putCertificate({ provider: 8, app_id: '1', app_key: 'k', app_secret: 's' })
    callback = new URL(saved.callback_url!).pathname
  })
  afterAll(() => api.close())

  const post = (
    path: string,
    address: string,
    length: number,
    body = new Uint8Array(),
    headers: string[] = [],
  ) => {
    const head = [
      `POST ${path} HTTP/1.1`,
      'host: x',
      `x-forwarded-for: ${address}`,
      `content-length: ${length}`,
    ]
    const sent = begin(api.port, [...head, ...headers], body)
    open.push(sent)
    return sent
  }
  const refusedWith503 = async (sent: ReturnType<typeof begin>) => {
    await until(() => isAnswered(sent))
    expect(sent.heard).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: 2\r\n.*"code":50301/is)
  }
  const closeAll = () => {
    for (const { socket } of open.splice(0)) socket.destroy()
  }

  it('of a callback with a wrong key is answered 404 without being read', async () => {
    // Only the start of each body is sent: Node itself may buffer 128 KiB per connection.
    const piece = new Uint8Array(16 * 1024)
    const wrong = callback.replace(/[^/]+$/, 'x'.repeat(22))
    const flood = async (count: number) => {
      const sent = Array.from({ length: count }, () => post(wrong, '10.0.0.1', 4 * MIB, piece))
      await until(() => sent.every(isAnswered), { what: 'answers' })
      for (const { heard } of sent) expect(heard).toMatch(/^HTTP\/1\.1 404 /)
      closeAll()
    }
    await flood(200)
    // Bytes in buffers, not the memory of the process: that also grows with what other specs left to the garbage collector.
    const buffered = () => process.memoryUsage().arrayBuffers
    const before = buffered()
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, buffered())
    }, 1)
    await flood(200)
    clearInterval(watch)
    expect(peak - before).toBeLessThan(20 * MIB)
  })

  it.each([
    ['a callback', () => callback, [] as string[]],
    ['an anonymous call', () => '/push/register', () => [`app_id: ${api.appId}`]],
  ])('of %s is one of a bounded number, per address and in all', async (_name, path, headers) => {
    const more = typeof headers === 'function' ? headers() : headers
    const start = (address: string) => post(path(), address, 1000, undefined, more)
    shares = 0
    const held = Array.from({ length: 5 }, () => start('10.0.0.1'))
    await until(() => shares === 5, { what: 'five bodies' })
    await refusedWith503(start('10.0.0.1'))
    held.push(...Array.from({ length: 3 }, () => start('10.0.0.2')))
    await until(() => shares === 8, { what: 'eight bodies' })
    await refusedWith503(start('10.0.0.3'))
    expect(held.some(isAnswered)).toBe(false)
    // Callers with a token have no such limit.
    const notify = { audience: 'all', message: { title: 'x' } }
    expect(
      (await api.call('/push/notify', { headers: { 'x-forwarded-for': '10.0.0.1' }, body: notify })).code,
    ).toBe(200)
    closeAll()
    await until(async () => {
      const again = start('10.0.0.1')
      again.socket.write(new Uint8Array(1000))
      await until(() => isAnswered(again) || again.heard.includes('\r\n\r\n'))
      return !again.heard.startsWith('HTTP/1.1 503')
    })
    closeAll()
  })

  it('occupies a bounded number of bytes, per address and in all', async () => {
    const start = (address: string, size: number) =>
      post(callback, address, 4 * MIB, new Uint8Array(Math.round(size * MIB)))
    const first = start('10.0.0.1', 0.9)
    const second = start('10.0.0.1', 0.9)
    /** The one that is refused, whichever arrives first. */
    const eitherRefused = async (one: typeof first, other: typeof first) => {
      await until(() => isAnswered(one) || isAnswered(other))
      const [refused, kept] = isAnswered(one) ? [one, other] : [other, one]
      await refusedWith503(refused)
      return kept
    }
    const kept = [await eitherRefused(first, second)]
    kept.push(await eitherRefused(start('10.0.0.2', 0.9), start('10.0.0.3', 0.9)))
    expect(kept.some(isAnswered)).toBe(false)
    closeAll()
  })

  it('that is refused is logged, but not each time', () => {
    expect(lines.filter((line) => line.includes('refused a request body')).length).toBeLessThanOrEqual(2)
    expect(lines.filter((line) => line.includes('Too many request bodies'))).toEqual([])
  })
})

describe('calls with bad credentials', () => {
  const BURST = 50
  const CALLS = 500
  let api: TestApi
  let refused: TokenBuckets
  let taken = 0
  let session: string
  const forgery = newTokenKey()

  beforeAll(async () => {
    refused = tokenBuckets({ perSecond: 1, burst: BURST, now: () => 0 })
    api = await openTestApi({
      env: { HERALD_TRUSTED_PROXIES: '1' },
      overrides: {
        limits: {
          ...freeLimits(),
          refused: {
            take(key) {
              const wait = refused.take(key)
              if (wait === 0) taken++
              return wait
            },
            giveBack(key) {
              taken--
              refused.giveBack(key)
            },
          },
        },
      },
    })
    const signedIn = await api.call('/console/session', {
      token: null,
      appId: null,
      body: { app_id: api.appId, app_secret: api.appSecret },
    })
    session = signedIn.headers.get('set-cookie')!.split(';')[0]!
  })
  afterAll(() => api.close())

  const forged = (n: number) =>
    jwt.sign(
      { app: api.appId, role: 'admin', ver: 0, sub: api.appId, aud: 'access', iss: 'herald', n },
      forgery,
      {
        algorithm: 'ES256',
      },
    )
  const key = (n: number) => `${n}`.padStart(43, 'x')
  const target = '/push/task/list'
  const kinds: {
    name: string
    code: number
    path: (n: number) => string
    headers: (n: number) => string[]
  }[] = [
    { name: 'an unknown app_id', code: 40104, path: () => target, headers: (n) => [`app_id: unknown-${n}`] },
    {
      name: 'a forged access token',
      code: 40102,
      path: () => target,
      headers: (n) => [`app_id: ${api.appId}`, `access-token: ${forged(n)}`],
    },
    {
      name: 'an unknown session',
      code: 40102,
      path: () => target,
      headers: (n) => [`app_id: ${api.appId}`, `cookie: herald_session=${key(n)}`, 'x-herald-console: 1'],
    },
    {
      name: 'an unknown callback address',
      code: 40401,
      path: (n) => `/callback/huawei/unknown-${n}/abcdefghijklmnopqrstuv`,
      headers: () => [],
    },
  ]

  it.each(kinds)(
    'such as $name cost no more checks than the address has tokens',
    async ({ name, code, path, headers }) => {
      const address = `10.0.0.${name.length}`
      function* requests() {
        for (let n = 0; n < CALLS; n++) {
          const head = [`POST ${path(n)} HTTP/1.1`, 'host: x', `x-forwarded-for: ${address}`, ...headers(n)]
          yield Buffer.from(`${head.join('\r\n')}\r\ncontent-length: 2\r\n\r\n{}`)
        }
      }
      const seen = new Map<number, number>()
      await sendPipelined(
        api.port,
        requests(),
        ({ body }) => {
          const answer = (JSON.parse(body) as { code: number }).code
          seen.set(answer, (seen.get(answer) ?? 0) + 1)
        },
        { window: 1 },
      )
      expect(Object.fromEntries(seen)).toEqual({ [code]: BURST, 42901: CALLS - BURST })

      const from = (origin: string) => ({ headers: { 'x-forwarded-for': origin }, body: {} })
      expect((await api.call('/push/task/list', from('10.9.9.9'))).code).toBe(200)
      expect(
        (
          await api.call('/push/task/list', {
            ...from('10.9.9.9'),
            token: null,
            headers: { cookie: session, 'x-herald-console': '1' },
          })
        ).code,
      ).toBe(200)
      // Of an application and with a token that this process has not seen before.
      const { appId, token } = await api.createApplication(name)
      expect((await api.call('/push/task/list', { ...from(address), appId, token })).code).toBe(200)
    },
  )

  it('say when to try again', async () => {
    const headers = { 'x-forwarded-for': '10.0.0.1' }
    const answers = await Promise.all(
      Array.from({ length: BURST + 1 }, (_, n) =>
        api.call('/push/task/list', { appId: `other-${n}`, headers, body: {} }),
      ),
    )
    const last = answers.find(({ code }) => code === 42901)!
    expect(last).toMatchObject({ status: 429, data: null })
    expect(last.headers.get('retry-after')).toBe('1')
  })

  it('are answered from memory when they are repeated, and then take no token', async () => {
    const headers = { 'x-forwarded-for': '10.0.1.1', 'x-herald-console': '1' }
    const repeated: (() => Promise<{ code: number }>)[] = [
      () => api.call('/push/task/list', { appId: 'repeated', headers, body: {} }),
      () => api.call('/push/task/list', { token: 'repeated', headers, body: {} }),
      () =>
        api.call('/push/task/list', {
          token: null,
          headers: { ...headers, cookie: `herald_session=${key(0)}` },
          body: {},
        }),
      () => api.call('/callback/vivo/repeated/abcdefghijklmnopqrstuv', { headers, body: {} }),
    ]
    // The clock stands still: a value is kept for a second, which these calls may exceed on a busy machine.
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now())
    try {
      for (const call of repeated) {
        const before = taken
        const codes = (await Promise.all(Array.from({ length: 40 }, call))).map(({ code }) => code)
        expect(new Set(codes).size).toBe(1)
        expect(taken - before).toBeLessThan(10)
      }
    } finally {
      clock.mockRestore()
    }
  })
})

describe('/metrics', () => {
  it('is rendered once per second, however often it is requested', async () => {
    const api = await openTestApi()
    try {
      const { registry } = api.deps
      const render = registry.metrics.bind(registry)
      let rendered = 0
      registry.metrics = () => {
        rendered++
        return render()
      }
      // The clock stands still, so that a slow machine does not need several seconds for these calls.
      const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now())
      const texts = await Promise.all(
        Array.from({ length: 100 }, async () => (await fetch(`${api.url}/metrics`)).text()),
      )
      clock.mockRestore()
      expect(texts.every((text) => text.includes('process_resident_memory_bytes'))).toBe(true)
      expect(rendered).toBeLessThan(10)
    } finally {
      await api.close()
    }
  })
})
