import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '@herald/async'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import {
  findRunning,
  type Postgres,
  type PostgresOptions,
  processStart,
  startPostgres,
  stopLeftBehind,
} from '../src/index.ts'
import { processesIn, serversOf } from '../src/processes.ts'

let top: string
let dir: string
const opened: Postgres[] = []

beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'herald-embedded-'))
  dir = join(top, 'postgres')
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.stop()))
  expect(existsSync(join(dir, 'data')) ? serversOf(join(dir, 'data')) : []).toEqual([])
  rmSync(top, { recursive: true })
})

async function start(options: Partial<PostgresOptions> = {}): Promise<Postgres> {
  const server = await startPostgres({ dir, durable: false, ...options })
  opened.push(server)
  return server
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

/** Another process that has started a server in `dir`, like a standalone. */
async function startInProcess(): Promise<{ child: ChildProcess; pid: number; url: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'run-server.ts'), dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout!, 'data')
  return { child, ...JSON.parse(String(line)) }
}

async function killed(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

describe('startPostgres', () => {
  it('keeps its data over a restart', async () => {
    expect(findRunning(dir)).toBeUndefined()
    const first = await start()
    await query(first.url, 'CREATE TABLE thing AS SELECT 7 AS n')
    expect(findRunning(dir)).toBe(first.url)
    await first.stop()
    expect(processStart(first.pid)).toBeUndefined()
    expect(findRunning(dir)).toBeUndefined()
    const second = await start()
    expect(await query(second.url, 'SELECT n FROM thing')).toEqual([{ n: 7 }])
  })

  it('listens only on the loopback address and requires its password', async () => {
    const { url } = await start()
    expect(await query(url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }])
    const wrong = new URL(url)
    wrong.password = 'guess'
    await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow('password authentication failed')
    expect(statSync(join(dir, 'password')).mode & 0o077).toBe(0)
  })

  it('is durable by default', async () => {
    const { url } = await start({ durable: true })
    const [row] = await query(
      url,
      `SELECT current_setting('fsync') f, current_setting('synchronous_commit') s`,
    )
    expect(row).toEqual({ f: 'on', s: 'on' })
  })

  it('leaves no server behind if its database cannot be created', async () => {
    const refused = start({ settings: { default_transaction_read_only: 'on' } })
    await expect(refused).rejects.toThrow('read-only transaction')
    expect(serversOf(join(dir, 'data'))).toEqual([])
  })

  it('stops a server whose parent process was killed', async () => {
    const { child, pid, url } = await startInProcess()
    await query(url, 'CREATE TABLE thing AS SELECT 7 AS n')
    await killed(child)
    expect(processStart(pid)).toBeDefined()
    const second = await start()
    expect(processStart(pid)).toBeUndefined()
    expect(await query(second.url, 'SELECT n FROM thing')).toEqual([{ n: 7 }])
  })

  it('starts right after its own process was killed, and on the same port', async () => {
    const { child, pid, url } = await startInProcess()
    // The killed server stays a zombie until its parent has reaped it, and its sessions may outlive it.
    const session = query(url, 'SELECT pg_sleep(30)').catch(() => [])
    process.kill(pid, 'SIGKILL')
    await killed(child)
    const port = Number(new URL(url).port)
    expect((await start({ port })).port).toBe(port)
    await session
  })

  it('does not mistake another process for its server', async () => {
    await (await start()).stop()
    writeFileSync(join(dir, 'data', 'postmaster.pid'), `${process.pid}\n/somewhere\n`)
    const { url } = await start()
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }])
  })

  /** A process that was killed during its first start; its initdb is still running. */
  async function interruptFirstStart(): Promise<void> {
    const program = join(import.meta.dirname, 'run-server.ts')
    const child = spawn(process.execPath, [program, dir, 'endless-initdb'], { stdio: 'ignore' })
    const unfinished = () =>
      existsSync(dir) ? readdirSync(dir).filter((name) => name.startsWith('data.new')) : []
    while (!unfinished().some((name) => existsSync(join(dir, name, 'base')))) await sleep(2)
    await killed(child)
    expect(existsSync(join(dir, 'data'))).toBe(false)
    expect(unfinished().flatMap((name) => processesIn(join(dir, name)))).not.toEqual([])
  }

  it('repairs an interrupted first start, whose initdb is still running', async () => {
    await interruptFirstStart()
    const { url } = await start()
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }])
    expect(readdirSync(dir).sort()).toEqual(['data', 'password', 'postgres.log'])
  })

  it('removes an interrupted first start without starting, too', async () => {
    await interruptFirstStart()
    await stopLeftBehind(dir)
    expect(readdirSync(dir)).toEqual(['password'])
  })

  it('reports a server that ends unexpectedly, but not one that was stopped', async () => {
    const reports: string[] = []
    const server = await start({ onExit: (sentence) => reports.push(sentence) })
    await server.stop()
    expect(reports).toEqual([])
    const other = await start({ onExit: (sentence) => reports.push(sentence) })
    process.kill(other.pid, 'SIGKILL')
    while (reports.length === 0) await sleep(5)
    expect(reports).toEqual([expect.stringContaining('SIGKILL')])
    // The other processes of the killed server end a moment later.
    await stopLeftBehind(dir)
  })

  it('stops the server when the start is ended before it accepts connections', async () => {
    const stopping = new AbortController()
    // It listens where nobody connects; without any socket the server would end by itself.
    const settings = { listen_addresses: '', unix_socket_directories: '.' }
    const starting = start({ settings, signal: stopping.signal })
    while (findRunning(dir) === undefined) await sleep(5)
    stopping.abort(new Error('no longer needed'))
    await expect(starting).rejects.toThrow('no longer needed')
    expect(serversOf(join(dir, 'data'))).toEqual([])
  })

  it('refuses data of another PostgreSQL version', async () => {
    await (await start()).stop()
    writeFileSync(join(dir, 'data', 'PG_VERSION'), '17\n')
    await expect(start()).rejects.toThrow(
      'was written by PostgreSQL 17, but this version of Herald includes PostgreSQL 18',
    )
  })

  it('reports why the server did not start', async () => {
    await (await start()).stop()
    writeFileSync(join(dir, 'data', 'postgresql.conf'), 'nonsense here\n')
    await expect(start()).rejects.toThrow(/did not start in .*postgresql.conf.* contains errors/)
  })

  it('runs below a directory that only its owner may enter', async () => {
    chmodSync(top, 0o700)
    mkdirSync(join(top, 'deeper'), { mode: 0o700 })
    dir = join(top, 'deeper', 'postgres')
    const { url } = await start()
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }])
    expect(existsSync(join(dir, 'data', 'PG_VERSION'))).toBe(true)
  })
})
