import { createServer, type Server } from 'node:http'
import { closeServer, listen } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createAttachmentProbe } from '../src/notify/attachment-probe.ts'

let server: Server
let base: string
let gets = 0

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = request.url ?? ''
    if (request.method === 'GET') gets++
    if (path === '/small.png')
      response
        .writeHead(200, { 'content-length': 1000 })
        .end(request.method === 'GET' ? Buffer.alloc(1000) : undefined)
    else if (path === '/large.png') response.writeHead(200, { 'content-length': 1024 * 1024 }).end()
    else if (path === '/no-head.png')
      response.writeHead(request.method === 'HEAD' ? 405 : 200).end(Buffer.alloc(2000))
    else if (path === '/endless.png') {
      response.writeHead(request.method === 'HEAD' ? 501 : 200)
      if (request.method === 'HEAD') return response.end()
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) {}
      }
      response.on('drain', more)
      more()
    } else if (path === '/silent.png') return
    else if (path === '/to-small.png') response.writeHead(302, { location: '/small.png' }).end()
    else if (path === '/inside.png') response.writeHead(302, { location: 'http://10.0.0.1/x.png' }).end()
    else if (path === '/loop.png') response.writeHead(302, { location: '/loop.png' }).end()
    else if (path === '/file.png') response.writeHead(302, { location: 'file:///etc/passwd' }).end()
    else response.writeHead(404).end()
  })
  base = `http://127.0.0.1:${await listen(server)}`
})
afterAll(() => closeServer(server))

describe('probing a picture', () => {
  const mayCall = (address: string) => address === '127.0.0.1'
  const probe = createAttachmentProbe({ mayCall, limitMs: 30_000 })
  const cases: [string, string | undefined][] = [
    ['/small.png', undefined],
    ['/to-small.png', undefined],
    ['/no-head.png', undefined],
    ['/large.png', 'must be a picture of less than 1 MB'],
    ['/endless.png', 'must be a picture of less than 1 MB'],
    ['/missing.png', 'responds with status 404'],
    ['/inside.png', 'must not point to a private address'],
    ['/loop.png', 'has too many redirects'],
    ['/file.png', 'redirects to a protocol other than HTTP'],
  ]
  it.each(cases)('%s: %s', async (path, expected) => {
    expect(await probe(`${base}${path}`)).toBe(expected)
  })

  it('ends after its time limit', async () => {
    const impatient = createAttachmentProbe({ mayCall, limitMs: 500 })
    expect(await impatient(`${base}/silent.png`)).toBe('did not respond within 0.5 s')
  })

  it('sends only HEAD if the response has the size', async () => {
    const before = gets
    await probe(`${base}/small.png`)
    expect(gets).toBe(before)
  })

  it('calls no private address, by number or by name', async () => {
    const strict = createAttachmentProbe({ limitMs: 30_000 })
    for (const url of [
      `${base}/small.png`,
      'http://localhost/x.png',
      'http://[::1]/x.png',
      'http://169.254.169.254/x.png',
      'http://0x7f000001/x.png',
    ])
      expect(await strict(url)).toBe('must not point to a private address')
    expect(await probe('http://127.0.0.1:1/x.png')).toBe('cannot be fetched')
  })
})
