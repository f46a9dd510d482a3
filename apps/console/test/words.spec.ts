import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { chinese, english, untranslated } from './dictionary.ts'

const placeholders = (text: string) => (text.match(/{{\w+}}/g) ?? []).sort()

describe('the words of the console', () => {
  it('have the same keys in every language', () => {
    expect([...chinese.keys()].sort()).toEqual(english.map(([key]) => key).sort())
  })

  it('are blank nowhere, and have the same placeholders', () => {
    for (const [key, text] of english) {
      const other = chinese.get(key) ?? ''
      expect([key, other.trim()]).not.toEqual([key, ''])
      expect([key, placeholders(other)]).toEqual([key, placeholders(text)])
    }
  })

  it('are Chinese in Chinese, but for names', () => {
    const same = english.filter(([key, text]) => chinese.get(key) === text).map(([key]) => key)
    expect(same).toEqual(['app.name', 'channel.apns', 'channel.fcm', 'channel.oppo', 'channel.vivo'])
  })

  it('would be recognised on a page if they were left in English', () => {
    const found = (text: string) => untranslated.some((pattern) => pattern.test(text))
    expect(['Sign out', 'Task 42', '12 of 13 devices'].map(found)).toEqual([true, true, true])
    expect(['退出登录', 'vivo', 'demo-iphone'].map(found)).toEqual([false, false, false])
  })

  it('stand in the dictionary and not in the pages', () => {
    const folder = join(import.meta.dirname, '../src')
    const loose = globSync('**/*.tsx', { cwd: folder }).flatMap((path) =>
      [...readFileSync(join(folder, path), 'utf8').matchAll(/^\s*([A-Z][a-z]+( [a-z]+)+\.?)$/gm)].map(
        ([, text]) => `${path}: ${text}`,
      ),
    )
    expect(loose).toEqual([])
  })
})
