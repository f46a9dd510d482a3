import { tmpdir } from 'node:os'
import { describe, expect, it } from '@jest/globals'
import { memoryFolder } from '../memory-folder.ts'

describe('the folder for temporary files', () => {
  it('is used if it has enough room', () => {
    expect(memoryFolder(tmpdir(), 1)).toBe(tmpdir())
    expect(memoryFolder(tmpdir(), Number.MAX_SAFE_INTEGER)).toBeUndefined()
  })

  it('is not used if it does not exist', () => {
    expect(memoryFolder('/nowhere', 1)).toBeUndefined()
  })
})
