import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeWith } from '@herald/testkit'
import { afterEach, expect, it } from '@jest/globals'
import { ca, client, pathOf } from './support/certificates.ts'
import { startDebianServer } from './support/debian-server.ts'
import { makePools, multicast } from './support/pools.ts'
import { until } from './support/until.ts'

const pools = makePools()
const folders: string[] = []

/** nginx with its own HTTP/2 implementation; `settings` go into the server block. */
async function startNginx(settings: string) {
  const folder = mkdtempSync(join(tmpdir(), 'herald-nginx-'))
  folders.push(folder)
  chmodSync(folder, 0o755)
  const log = join(folder, 'access.log')
  const server = await startDebianServer('nginx', (port) => {
    writeFileSync(
      join(folder, 'nginx.conf'),
      `daemon off; master_process off; pid ${folder}/pid; error_log stderr warn;
       events { worker_connections 256; }
       http {
         log_format plain '$status $request_uri $request_length';
         access_log ${log} plain;
         client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
         uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
         server {
           listen 127.0.0.1:${port} ssl http2;
           ssl_certificate ${pathOf('server.pem')}; ssl_certificate_key ${pathOf('server.key')};
           ${settings}
         }
       }`,
    )
    return ['-p', folder, '-c', join(folder, 'nginx.conf')]
  })
  pools.keep(server)
  return {
    origin: `https://127.0.0.1:${server.port}`,
    logged: () =>
      readFileSync(log, 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split(' ').slice(0, 2).join(' ')),
  }
}

describeWith('nginx')('nginx', () => {
  afterEach(async () => {
    await pools.closeAll()
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
  })

  it('replies to each of ten thousand requests over few streams', async () => {
    const { origin } = await startNginx(
      'http2_max_concurrent_streams 16; keepalive_requests 100000; return 200 "for $request_uri";',
    )
    const pool = pools.pool({ origin, tls: { ca } })
    const recorder = await multicast(pool, { count: 10_000 })
    expect(recorder.tally()).toEqual({ 200: 10_000 })
    for (const [index, reply] of recorder.replies) expect(reply.body.toString()).toBe(`for /to/${index}`)
    expect(pool.stats().connections.map((connection) => connection.streamLimit)).toContain(16)
  })

  it('sends GOAWAY every fifty requests: all get a reply, each is processed exactly once', async () => {
    const { origin, logged } = await startNginx('keepalive_requests 50; return 200;')
    const pool = pools.pool({ origin, tls: { ca } })
    const recorder = await multicast(pool, { count: 2_000 })
    expect(recorder.tally()).toEqual({ 200: 2_000 })
    await until('nginx has logged all', () => logged().length >= 2_000)
    expect(logged()).toHaveLength(2_000)
    expect(new Set(logged()).size).toBe(2_000)
    expect(pool.stats().opened).toBeGreaterThanOrEqual(40)
  })

  it('refuses large bodies before it has read them, and each refusal is received', async () => {
    const { origin } = await startNginx('client_max_body_size 1k; location / { return 200; }')
    const pool = pools.pool({ origin, tls: { ca } })
    const send = (size: number) =>
      multicast(pool, { count: 50, headers: { 'content-length': String(size) }, body: 'x'.repeat(size) })
    const [large, small] = await Promise.all([send(100_000), send(100)])
    expect([large.tally(), small.tally()]).toEqual([{ 413: 50 }, { 200: 50 }])
  })

  it('reports in its reply whether it received a client certificate', async () => {
    const { origin } = await startNginx(
      `ssl_client_certificate ${pathOf('ca.pem')}; ssl_verify_client optional; return 200 "$ssl_client_verify $ssl_client_s_dn";`,
    )
    const known = await multicast(pools.pool({ origin, tls: { ca, ...client } }), { count: 1 })
    const stranger = await multicast(pools.pool({ origin, tls: { ca } }), { count: 1 })
    expect(known.replies.get(0)?.body.toString()).toBe('SUCCESS CN=herald test client')
    expect(stranger.replies.get(0)?.body.toString()).toBe('NONE ')
  })
})
