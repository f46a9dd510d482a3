import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { consolePolicy } from '../src/console/pages.ts'
import { openTestApi, type TestApi } from './harness.ts'

const script = `console.log("${'x'.repeat(2000)}")`
const index = '<!doctype html><meta name="csp-nonce" content="__NONCE__"><style nonce="__NONCE__">a{}</style>'

let api: TestApi
let place: string
let dist: string
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'herald-console-'))
  dist = join(place, 'dist')
  writeFileSync(join(place, 'secret.txt'), 'secret')
  build()
  api = await openTestApi({ consoleFolder: dist })
})
afterAll(async () => {
  await api.close()
  rmSync(place, { recursive: true })
})

function build(): void {
  mkdirSync(join(dist, 'assets'), { recursive: true })
  const write = (path: string, body: string | Buffer) => writeFileSync(join(dist, path), body)
  write('assets/index-Bq3xYz_1.js', script)
  write('assets/index-Bq3xYz_1.js.br', brotliCompressSync(script))
  write('assets/index-Bq3xYz_1.js.gz', gzipSync(script))
  write('favicon.svg', '<svg/>')
  write('.stamp', 'hash of the sources')
  write('index.html', index)
}

const get = (path: string, init: RequestInit = {}) =>
  fetch(`${api.url}${path}`, { redirect: 'manual', ...init })
/** Sends the path byte for byte; fetch would normalise it first. */
const raw = async (path: string) => {
  const text = await api.socket(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  return { status: Number(text.slice(9, 12)), text }
}

describe('the pages of the console', () => {
  it('start at /console/; / and /console redirect to it', async () => {
    for (const [path, status] of [
      ['/', 302],
      ['/console', 308],
    ] as const) {
      const answer = await get(path)
      expect([answer.status, answer.headers.get('location')]).toEqual([status, '/console/'])
    }
    const page = await get('/console/')
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  })

  it('are the index for every path that is not a file', async () => {
    for (const path of [
      '/console/tasks',
      '/console/tasks/123?x=1.2',
      '/console/devices/%E4%B8%AD',
      '/console/index.html',
    ])
      expect([path, (await (await get(path)).text()).slice(0, 15)]).toEqual([path, '<!doctype html>'])
    for (const path of ['/console/missing.js', '/console/assets/index-Bq3xYz_2.js', '/consoles'])
      expect([path, (await get(path)).status]).toEqual([path, 404])
  })

  it('get a new nonce in every answer, which is not cached', async () => {
    const nonces = new Set<string>()
    for (let i = 0; i < 3; i++) {
      const answer = await get('/console/')
      const [, nonce = ''] = /style-src 'self' 'nonce-([\w+/=]{24})'/.exec(
        answer.headers.get('content-security-policy') ?? '',
      )!
      expect(await answer.text()).toBe(index.replaceAll('__NONCE__', nonce))
      expect(answer.headers.get('cache-control')).toBe('no-store')
      nonces.add(nonce)
    }
    expect(nonces.size).toBe(3)
  })

  it('have a strict policy', async () => {
    const answer = await get('/console/')
    const policy = answer.headers.get('content-security-policy')!
    expect(policy.replace(/nonce-[^']+/, 'nonce-x')).toBe(
      [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'nonce-x'",
        "connect-src 'self' ws://127.0.0.1:* wss://127.0.0.1:*",
        "img-src 'self' data: https:",
        "font-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
      ].join('; '),
    )
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('x-powered-by')).toBeNull()
  })

  it.each([
    ['herald.example', 'ws://herald.example:* wss://herald.example:*'],
    ['herald.example:7100', 'ws://herald.example:* wss://herald.example:*'],
    // A policy cannot contain such an address; only 'self' remains.
    ['[::1]:7100', undefined],
    ["x; script-src 'unsafe-inline'", undefined],
    ['a b', undefined],
    [undefined, undefined],
  ])('allow sockets to the host %s only', (host, sockets) => {
    const connect = /connect-src ([^;]*)/.exec(consolePolicy('n', host))![1]
    expect(connect).toBe(sockets === undefined ? "'self'" : `'self' ${sockets}`)
    expect(consolePolicy('n', host)).not.toContain('unsafe')
  })

  it('support only GET and HEAD', async () => {
    const answer = await get('/console/', { method: 'POST' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect(await answer.json()).toMatchObject({ code: 40501 })
    const head = await get('/console/', { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect((await get('/console/overview', { method: 'POST' })).status).toBe(405)
  })
})

describe('a file of the console', () => {
  const path = '/console/assets/index-Bq3xYz_1.js'

  it('is cached forever if its name contains its hash, and revalidated otherwise', async () => {
    expect((await get(path)).headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    const icon = await get('/console/favicon.svg')
    expect(icon.headers.get('cache-control')).toBe('no-cache')
    expect(icon.headers.get('content-type')).toBe('image/svg+xml')
    const again = await get('/console/favicon.svg', {
      headers: { 'if-none-match': icon.headers.get('etag')! },
    })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  it.each([
    ['br, gzip', 'br'],
    ['gzip, deflate', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['identity', null],
    ['', null],
  ])('comes as the build compressed it: %s', async (accepted, encoding) => {
    const answer = await get(path, { headers: { 'accept-encoding': accepted } })
    expect(answer.headers.get('content-encoding')).toBe(encoding)
    expect(answer.headers.get('vary')).toBe('accept-encoding')
    expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(await answer.text()).toBe(script)
  })

  it.each([
    '/console/../secret.txt',
    '/console/%2e%2e/secret.txt',
    '/console/..%2fsecret.txt',
    '/console/%2e%2e%2fsecret.txt',
    '/console/..%5csecret.txt',
    '/console/..\\secret.txt',
    '/console/assets/../../secret.txt',
    '/console/assets/..%2f..%2fsecret.txt',
    '/console//secret.txt',
    '/console/%252e%252e/secret.txt',
    '/console/secret.txt%00.js',
    '/console/%00',
    '/console/assets/index-Bq3xYz_1.js%00',
    '/console/assets/',
    '/console/.stamp',
    '/console/%2estamp',
    '/console/assets/index-Bq3xYz_1.js.br',
    '/console/%',
    '/console/%ff',
    '/console/./favicon.svg',
    '/CONSOLE/',
  ])('is not reached by %s', async (trick) => {
    const { status, text } = await raw(trick)
    expect(text).not.toContain('secret\r\n')
    expect(text).not.toMatch(/\r\n\r\nsecret/)
    expect(text).not.toContain('hash of the sources')
    if (trick === '/console/assets/') expect(status).toBe(200)
    else expect([status, text.includes('"code":40401')]).toEqual([404, true])
  })
})

describe('a console that is not built', () => {
  it('says how to build it, and is served once it is built', async () => {
    renameSync(dist, `${dist}-away`)
    const missing = await until(async () => {
      const answer = await get('/console/')
      return answer.status === 503 && answer
    })
    expect(missing.headers.get('content-type')).toContain('text/html')
    expect(await missing.text()).toContain('node scripts/bootstrap.mjs prepare')
    build()
    await until(async () => (await get('/console/')).status === 200)
  })
})
