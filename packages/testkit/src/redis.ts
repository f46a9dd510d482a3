import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { type RunningProcess, startProcess } from './processes.ts'
import { findProgram } from './programs.ts'

export type TestRedis = {
  url: string
  port: number
  process: RunningProcess
  stop(): Promise<void>
}

/** Starts a redis-server without persistence. Use it in suites of `describeWith('redis-server')`. */
export async function testRedis(args: string[] = []): Promise<TestRedis> {
  const dir = mkdtempSync(join(tmpdir(), 'herald-redis-'))
  const port = await freePort()
  const server = await startRedis(port, dir, args)
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

/** Starts a redis-server without persistence in the folder `dir`; `args` override the default arguments. */
export async function startRedis(
  port: number,
  dir: string,
  args: readonly string[] = [],
): Promise<RunningProcess> {
  const program = findProgram('redis-server')
  if (!program) throw new Error('redis-server is not installed.')
  const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', dir]
  const memory = ['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction']
  const server = startProcess(program, [...place, ...memory, ...args])
  await server.prints(/Ready to accept connections/)
  return server
}
