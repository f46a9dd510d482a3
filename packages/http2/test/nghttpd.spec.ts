import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeWith } from '@herald/testkit'
import { afterEach, expect, it } from '@jest/globals'
import { ca, client, pathOf } from './support/certificates.ts'
import { startDebianServer } from './support/debian-server.ts'
import { makePools, multicast } from './support/pools.ts'

const pools = makePools()

async function startNghttpd(...options: string[]) {
  const plain = options.includes('--no-tls')
  const server = await startDebianServer('nghttpd', (port) => [
    ...['-a', '127.0.0.1', '--echo-upload', ...options, String(port)],
    ...(plain ? [] : [pathOf('server.key'), pathOf('server.pem')]),
  ])
  return { ...pools.keep(server), origin: `${plain ? 'http' : 'https'}://127.0.0.1:${server.port}` }
}

const body = (index: number): string => `{"to":${index},"text":"${'x'.repeat(index % 200)}"}`

describeWith('nghttpd')('nghttpd', () => {
  afterEach(() => pools.closeAll())

  it('echoes the body of each of ten thousand requests', async () => {
    const { origin } = await startNghttpd()
    const pool = pools.pool({ origin, tls: { ca } })
    const recorder = await multicast(pool, { count: 10_000, body })
    expect(recorder.tally()).toEqual({ 200: 10_000 })
    for (const [index, reply] of recorder.replies) expect(reply.body.toString()).toBe(body(index))
    expect(recorder.twice).toEqual([])
  })

  it.each([
    ['pads every frame', ['-b', '255']],
    ['has no header table', ['-c', '0', '--encoder-header-table-size=0']],
    ['has a tiny header table', ['-c', '60', '--encoder-header-table-size=100']],
    ['allows one stream', ['-m', '1']],
    ['gives windows of 127 bytes', ['-w', '7', '-W', '16']],
    ['gives a small window for the connection', ['-W', '10']],
    ['speaks without TLS', ['--no-tls']],
    ['adds a trailer', ['--trailer', 'x-trailer: late']],
    ['answers early', ['--early-response']],
  ])('that %s serves a thousand', async (what, options) => {
    const { origin } = await startNghttpd(...options)
    const pool = pools.pool({ origin, tls: { ca }, maxConnections: 1 })
    const recorder = await multicast(pool, { count: 1_000, body })
    expect(recorder.tally()).toEqual({ 200: 1_000 })
    const reply = recorder.replies.get(999)!
    if (what !== 'answers early') expect(reply.body.toString()).toBe(body(999))
  })

  it('accepts and echoes bodies far larger than any window', async () => {
    const { origin } = await startNghttpd('-w', '10', '-W', '16')
    const pool = pools.pool({ origin, tls: { ca }, maxReplyBytes: 400_000 })
    const large = (index: number): Buffer => Buffer.alloc(300_000, index)
    const recorder = await multicast(pool, { count: 5, body: large })
    for (let index = 0; index < 5; index++)
      expect(recorder.replies.get(index)?.body.equals(large(index))).toBe(true)
  })

  it('serves files, and asks for a client certificate', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'herald-http2-'))
    writeFileSync(join(folder, 'hello.txt'), 'hello from a file')
    try {
      const { origin } = await startNghttpd('-d', folder, '--verify-client')
      const pool = pools.pool({ origin, tls: { ca, ...client } })
      const request = { count: 2, headers: { ':method': 'GET' }, body: undefined }
      const recorder = await multicast(pool, {
        ...request,
        path: (index) => (index === 0 ? '/hello.txt' : '/none'),
      })
      expect(recorder.outcomes(2)).toEqual(['200', '404'])
      expect(recorder.replies.get(0)?.body.toString()).toBe('hello from a file')
      const stranger = pools.pool({ origin, tls: { ca } })
      const refused = await multicast(stranger, { ...request, path: '/hello.txt', deadlineMs: 500 })
      expect(refused.tally()).toEqual({ 'unsent:connect': 2 })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
