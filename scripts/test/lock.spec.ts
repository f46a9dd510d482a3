import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

const lockModule = join(import.meta.dirname, '..', 'lock.mjs')
let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'herald-lock-'))
})
afterEach(() => rmSync(root, { recursive: true }))

/** A process that takes the lock, runs `work` (JavaScript with `lock` in scope) and ends. */
function hold(work: string): ChildProcess {
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
  while (!notes().includes(word)) await new Promise((resolve) => setTimeout(resolve, 10))
}
const exit = (child: ChildProcess) => once(child, 'exit')

describe('the bootstrap lock', () => {
  it('lets one process work at a time', async () => {
    const work = `note('in'); await sleep(30); note('out')`
    await Promise.all([hold(work), hold(work), hold(work), hold(work)].map(exit))
    expect(notes()).toEqual(['in', 'out', 'in', 'out', 'in', 'out', 'in', 'out'])
    expect(existsSync(join(root, '.bootstrap.lock'))).toBe(false)
  })

  it('is taken over from a killed holder by exactly one of those who wait', async () => {
    const dead = hold(`note('dead'); await sleep(60_000)`)
    await untilNoted('dead')
    dead.kill('SIGKILL')
    await exit(dead)
    const work = `note('in'); await sleep(30); note('out')`
    await Promise.all([hold(work), hold(work), hold(work)].map(exit))
    expect(notes()).toEqual(['dead', 'in', 'out', 'in', 'out', 'in', 'out'])
  })

  it('still belongs to the program that a killed holder had started', async () => {
    const program = spawn(process.execPath, ['--eval', 'setTimeout(() => {}, 60_000)'])
    const dead = hold(`lock.addHolder(${program.pid}); note('held'); await sleep(60_000)`)
    await untilNoted('held')
    dead.kill('SIGKILL')
    await exit(dead)
    const next = hold(`note('next')`)
    // The waiter says so by not noting anything while the program lives; 500 ms are several of its rounds.
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(notes()).toEqual(['held'])
    program.kill('SIGKILL')
    await exit(next)
    expect(notes()).toEqual(['held', 'next'])
  })

  it('is not held by a stranger who got the pid of a dead holder', async () => {
    writeFileSync(join(root, '.bootstrap.lock'), JSON.stringify([[process.pid, '1']]))
    await exit(hold(`note('in')`))
    expect(notes()).toEqual(['in'])
  })
})
