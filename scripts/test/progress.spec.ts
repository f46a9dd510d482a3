import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '@herald/async'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

const progressModule = join(import.meta.dirname, '..', 'progress.mjs')
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-progress-'))
})
afterEach(() => rmSync(folder, { recursive: true }))
const noted = (name: string) => existsSync(join(folder, name))

describe('a bootstrap that gets a SIGTERM', () => {
  it.each([
    ['an optional program that then fails', true, 1],
    ['an optional program that then succeeds', true, 0],
    ['a necessary program that then fails', false, 1],
    ['a necessary program that then succeeds', false, 0],
  ])('while it runs %s ends after it and starts nothing', async (_, optional, code) => {
    const program = `const { writeFileSync } = require('node:fs')
      process.on('SIGTERM', () => { writeFileSync('ended', ''); process.exit(${code}) })
      setInterval(() => {}, 60_000)
      writeFileSync('running', '')`
    const bootstrap = `import { writeFileSync } from 'node:fs'
      import { runWithProgress } from ${JSON.stringify(progressModule)}
      const args = ['--eval', ${JSON.stringify(program)}]
      await runWithProgress('building', process.execPath, args, { cwd: process.cwd(), optional: ${optional} })
      writeFileSync('started', '')`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', bootstrap], {
      cwd: folder,
      stdio: 'ignore',
    })
    const exit = once(child, 'exit')
    while (!noted('running')) await sleep(10)
    child.kill('SIGTERM')
    expect(await exit).toEqual([143, null])
    expect([noted('ended'), noted('started')]).toEqual([true, false])
  })
})
