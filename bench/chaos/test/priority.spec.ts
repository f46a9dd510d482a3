import { getPriority } from 'node:os'
import { startProcess } from '@herald/testkit'
import { expect, it } from '@jest/globals'
import { withPriority } from '../priority.ts'

it('gives priority while the work runs, if it may, and takes it back after an error', async () => {
  const child = startProcess(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  try {
    const before = getPriority(child.pid)
    const work = withPriority([child.pid], async () => {
      expect(getPriority(child.pid)).toBe(process.getuid?.() === 0 ? -10 : before)
      throw new Error('failed')
    })
    await expect(work).rejects.toThrow('failed')
    expect(getPriority(child.pid)).toBe(before)
  } finally {
    await child.stop('SIGKILL')
  }
})
