import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { copyOnce } from '../src/binaries.ts'

let top: string
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'herald-binaries-'))
})
afterEach(() => rmSync(top, { recursive: true }))

const modeOf = (...path: string[]) => statSync(join(top, ...path)).mode & 0o777

describe('a copy of the binaries', () => {
  it.each([0o022, 0o027, 0o077])('can be run by every user, with a umask of %d too', (umask) => {
    const before = process.umask(umask)
    try {
      mkdirSync(join(top, 'installed', 'bin'), { recursive: true })
      writeFileSync(join(top, 'installed', 'bin', 'postgres'), '', { mode: 0o755 })
      expect(copyOnce(join(top, 'installed'), join(top, 'cache'), join(top, 'cache', 'copy'))).toBe(true)
    } finally {
      process.umask(before)
    }
    expect(modeOf('cache')).toBe(0o755)
    expect(modeOf('cache', 'copy')).toBe(0o755)
    expect(modeOf('cache', 'copy', 'bin', 'postgres') & 0o055).toBe(0o055)
  })

  it('is not made in a folder where others may write', () => {
    const before = process.umask(0)
    mkdirSync(join(top, 'open'), { mode: 0o777 })
    process.umask(before)
    expect(copyOnce(top, join(top, 'open'), join(top, 'open', 'copy'))).toBe(false)
    expect(modeOf('open')).toBe(0o777)
  })
})
