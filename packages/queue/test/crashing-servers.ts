import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '@herald/embedded'
import { describeWith, freePort, type RunningProcess, startRedis } from '@herald/testkit'
import pg from 'pg'

/** A server that a spec may crash and start again at the same port. */
export type CrashingServer = {
  url: string
  port: number
  crash(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

export const crashingServers = [
  { kind: 'redis', describe: describeWith('redis-server'), open: openRedis },
  { kind: 'postgres', describe: describeWith(), open: openPostgres },
]

async function openRedis(): Promise<CrashingServer> {
  const port = await freePort()
  let server: RunningProcess
  const start = async () => {
    server = await startRedis(port, tmpdir())
  }
  const crash = async () => {
    await server.stop('SIGKILL')
  }
  await start()
  return { url: `redis://127.0.0.1:${port}`, port, start, crash, close: crash }
}

async function openPostgres(): Promise<CrashingServer> {
  const dir = mkdtempSync(join(tmpdir(), 'herald-crashing-'))
  const exits = Promise.withResolvers<void>()
  const onExit = () => exits.resolve()
  let server = await startPostgres({ dir, durable: false, onExit })
  const { url, port } = server
  return {
    url,
    port,
    crash: async () => {
      await checkpoint(url)
      process.kill(server.pid, 'SIGQUIT')
      await exits.promise
    },
    start: async () => {
      Object.assign(exits, Promise.withResolvers<void>())
      server = await startPostgres({ dir, port, durable: false, onExit })
    },
    close: async () => {
      await server.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Without it the last jobs may be lost with the server, because their commits do not wait for the disk. */
async function checkpoint(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('CHECKPOINT')
  await client.end()
}
