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

/** A redis-server of its own that keeps nothing on disk; guard the suite with `describeWith('redis-server')`. */
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

/** A redis-server on this port that keeps nothing on disk; `dir` is its working directory, `args` are its last word. */
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
