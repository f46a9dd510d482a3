import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '@herald/async'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

const lockModule = join(import.meta.dirname, '..', 'lock.mjs')
let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'herald-lock-'))
})
afterEach(() => rmSync(root, { recursive: true }))

/** A process that takes the lock, runs `work` (JavaScript with `lock` in scope) and ends. */
function lockAndRun(work: string): ChildProcess {
  const code = `import { withLock } from ${JSON.stringify(lockModule)}
    import { appendFileSync, readFileSync } from 'node:fs'
    const note = (word) => appendFileSync('notes', word + '\\n')
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
    await withLock(process.cwd(), async (lock) => { ${work} })`
  return spawn(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
const notes = () =>
  existsSync(join(root, 'notes')) ? readFileSync(join(root, 'notes'), 'utf8').trim().split('\n') : []
async function untilNoted(word: string) {
  while (!notes().includes(word)) await sleep(10)
}
const exit = (child: ChildProcess) => once(child, 'exit')

describe('the bootstrap lock', () => {
  it('lets one process work at a time', async () => {
    const work = `note('in'); await sleep(30); note('out')`
    await Promise.all([lockAndRun(work), lockAndRun(work), lockAndRun(work), lockAndRun(work)].map(exit))
    expect(notes()).toEqual(['in', 'out', 'in', 'out', 'in', 'out', 'in', 'out'])
    expect(existsSync(join(root, '.bootstrap.lock'))).toBe(false)
  })

  it('of a killed owner is taken by one waiting process at a time', async () => {
    const dead = lockAndRun(`note('dead'); await sleep(60_000)`)
    await untilNoted('dead')
    dead.kill('SIGKILL')
    await exit(dead)
    const work = `note('in'); await sleep(30); note('out')`
    await Promise.all([lockAndRun(work), lockAndRun(work), lockAndRun(work)].map(exit))
    expect(notes()).toEqual(['dead', 'in', 'out', 'in', 'out', 'in', 'out'])
  })

  it('stays taken while a program of its killed owner is running', async () => {
    const program = spawn(process.execPath, ['--eval', 'setTimeout(() => {}, 60_000)'])
    const dead = lockAndRun(`lock.addOwner(${program.pid}); note('owned'); await sleep(60_000)`)
    await untilNoted('owned')
    dead.kill('SIGKILL')
    await exit(dead)
    const next = lockAndRun(`note('next')`)
    // The waiting process writes no note while the program is running; 500 ms are several of its polls.
    await sleep(500)
    expect(notes()).toEqual(['owned'])
    program.kill('SIGKILL')
    await exit(next)
    expect(notes()).toEqual(['owned', 'next'])
  })

  it('is free when the pid of its owner belongs to another process now', async () => {
    writeFileSync(join(root, '.bootstrap.lock'), JSON.stringify([{ pid: process.pid, started: '1' }]))
    await exit(lockAndRun(`note('in')`))
    expect(notes()).toEqual(['in'])
  })
})
