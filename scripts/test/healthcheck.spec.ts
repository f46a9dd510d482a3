import { spawn } from 'node:child_process'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { freePort } from '@herald/testkit'
import { describe, expect, it } from '@jest/globals'
import { root } from './deployed-programs.ts'

function check(port: number): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, [join(root, 'deploy/healthcheck.mjs')], {
    env: { HERALD_METRICS_PORT: String(port) },
  })
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, said })))
}

async function checkAgainst(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const result = await check((server.address() as AddressInfo).port)
  await new Promise((resolve) => server.close(resolve))
  return result
}

describe('the health check of a container', () => {
  it('succeeds if the program is ready', async () => {
    const paths: (string | undefined)[] = []
    const result = await checkAgainst((request, response) => {
      paths.push(request.url)
      response.end('{"ready":true}')
    })
    expect(result).toEqual({ code: 0, said: '' })
    expect(paths).toEqual(['/readyz'])
  })

  it('fails with what the program waits for', async () => {
    const body = '{"ready":false,"waiting":["queue"]}'
    const result = await checkAgainst((_request, response) => response.writeHead(503).end(body))
    expect(result).toEqual({ code: 1, said: `${body}\n` })
  })

  it('fails if nothing listens, and if the reply is cut off', async () => {
    const refused = await check(await freePort())
    expect(refused.code).toBe(1)
    expect(refused.said).toMatch(/^\/readyz does not respond: /)
    const cut = await checkAgainst((request) => request.socket.end())
    expect(cut).toEqual({ code: 1, said: 'the reply has no body\n' })
  })
})
