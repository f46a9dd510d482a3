import { join } from 'node:path'
import { processStart } from '@herald/embedded'
import { startProcess, until } from '@herald/testkit'
import { describe, expect, it } from '@jest/globals'
import { runProgram } from '../run-program.ts'

const waits = 'setInterval(() => {}, 1000)'

describe('runProgram', () => {
  it('returns the exit code', async () => {
    expect(await runProgram(['--eval', 'process.exitCode = 3'])).toBe(3)
  })

  it('ends the program and its children on a signal', async () => {
    const parent = `const child = require('node:child_process').spawn(process.execPath, ['--eval', '${waits}'])
      console.log('child', child.pid); ${waits}`
    const ours = `import { runProgram } from '${join(import.meta.dirname, '../run-program.ts')}'
      await runProgram(['--eval', ${JSON.stringify(parent)}])`
    const running = startProcess(process.execPath, ['--input-type=module', '--eval', ours])
    const [, child] = await running.prints(/child (\d+)/)
    expect(await running.stop()).toEqual({ code: 143, signal: null })
    await until(() => processStart(Number(child)) === undefined, { what: 'the end of the child' })
  })

  it('ends two programs on a signal, and ends after the last of them', async () => {
    const slow = `process.on('SIGTERM', () => setTimeout(() => { console.log('slow has ended'); process.exit() }, 500))
      console.log('slow runs'); ${waits}`
    const ours = `import { runProgram } from '${join(import.meta.dirname, '../run-program.ts')}'
      process.on('exit', () => console.log('we end'))
      await Promise.all([runProgram(['--eval', ${JSON.stringify(slow)}]), runProgram(['--eval', ${JSON.stringify(`console.log('quick runs'); ${waits}`)}])])`
    const running = startProcess(process.execPath, ['--input-type=module', '--eval', ours])
    await running.prints(/slow runs/)
    await running.prints(/quick runs/)
    expect(await running.stop()).toEqual({ code: 143, signal: null })
    expect(running.output()).toMatch(/slow has ended\s+we end/)
  })
})
