import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeWith } from '@herald/testkit'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { processStart } from '../src/index.ts'
import { stopOrphans } from '../src/orphans.ts'
import { serversOf } from '../src/processes.ts'
import { serverOptions } from '../src/server-options.ts'

const system = process.platform
const runOn = (platform: NodeJS.Platform) => Object.defineProperty(process, 'platform', { value: platform })

let top: string
let dataDir: string
let other: ChildProcess | undefined
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'herald-pid-'))
  dataDir = join(top, 'data')
})
afterEach(async () => {
  runOn(system)
  if (other && other.exitCode === null && other.signalCode === null) {
    other.kill('SIGKILL')
    await once(other, 'exit')
  }
  rmSync(top, { recursive: true })
})

/** A process whose arguments are those of a server of `dir`, or of something else. */
async function run(...args: string[]): Promise<number> {
  const program = `process.stdout.write('started'); setInterval(() => {}, 60_000)`
  other = spawn(process.execPath, ['--eval', program, '--', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(other.stdout!, 'data')
  return other.pid!
}
const argumentsFor = (dir: string) => serverOptions({ port: 1, dataDir: dir, durable: true })

function record(pid: number, dir = dataDir): void {
  mkdirSync(dir)
  writeFileSync(join(dir, 'postmaster.pid'), `${pid}\n${dir}\n`)
}
const recorded = () => existsSync(join(dataDir, 'postmaster.pid'))

describeWith('ps')('a pid in postmaster.pid, on a system without /proc', () => {
  beforeEach(() => {
    runOn('darwin')
  })

  it('is that of the server if its command line names the directory', async () => {
    const pid = await run(...argumentsFor(dataDir))
    record(pid)
    expect(serversOf(dataDir)).toEqual([pid])
    record(pid, join(top, 'dat'))
    expect(serversOf(join(top, 'dat'))).toEqual([])
    await stopOrphans(dataDir, () => {})
    expect(processStart(pid)).toBeUndefined()
  })

  it('may belong to another program, which goes on running; the file is removed', async () => {
    const pid = await run('editor')
    record(pid)
    await stopOrphans(dataDir, () => {})
    expect(processStart(pid)).toBeDefined()
    expect(recorded()).toBe(false)
  })

  it('may belong to a Postgres that is not known to be ours, which goes on running; the file stays', async () => {
    const pid = await run('postgres', '-D', '/another')
    record(pid)
    await stopOrphans(dataDir, () => {})
    expect(processStart(pid)).toBeDefined()
    expect(recorded()).toBe(true)
  })

  it('is not judged on Windows, where nothing tells whose process it is', async () => {
    const pid = await run(...argumentsFor(dataDir))
    record(pid)
    runOn('win32')
    await stopOrphans(dataDir, () => {})
    expect(processStart(pid)).toBeDefined()
    expect(recorded()).toBe(true)
  })
})
