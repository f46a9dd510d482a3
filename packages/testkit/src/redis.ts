import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { type RunningProcess, startProcess } from './processes.ts'
import { findProgram, hasProgram } from './programs.ts'

export type TestRedis = {
  url: string
  port: number
  process: RunningProcess
  stop(): Promise<void>
}

/** A redis-server of its own that keeps nothing on disk; guard the suite with `describeWith('redis-server')`. */
export async function testRedis(args: string[] = []): Promise<TestRedis> {
  if (!hasProgram('redis-server')) throw new Error('redis-server is not installed.')
  const dir = mkdtempSync(join(tmpdir(), 'herald-redis-'))
  const port = await freePort()
  const settings = [
    '--bind',
    '127.0.0.1',
    '--port',
    String(port),
    '--dir',
    dir,
    '--save',
    '',
    '--appendonly',
    'no',
  ]
  const server = startProcess(findProgram('redis-server') ?? '', [
    ...settings,
    '--maxmemory-policy',
    'noeviction',
    ...args,
  ])
  await server.prints(/Ready to accept connections/)
  return {
    url: `redis://127.0.0.1:${port}/0`,
    port,
    process: server,
    async stop() {
      await server.stop('SIGKILL')
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
