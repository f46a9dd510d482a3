import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { HeraldError } from '@herald/client'
import { describe, expect, it } from '@jest/globals'
import { refusalIn } from '../src/words/refusals.ts'
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
    expect(same).toEqual([
      'app.name',
      'channel.apns',
      'channel.fcm',
      'channel.oppo',
      'channel.vivo',
      'send.previewIphone',
      'platform.ios',
    ])
  })

  it('would be recognised on a page if they were left in English', () => {
    const found = (text: string) => untranslated.some((pattern) => pattern.test(text))
    expect(['Sign out', 'Task 42', '12 of 13 devices'].map(found)).toEqual([true, true, true])
    expect(['退出登录', 'vivo', 'demo-iphone'].map(found)).toEqual([false, false, false])
  })

  it('have a Chinese sentence for every code of the interface, beside the one that names the field', () => {
    const reference = readFileSync(join(import.meta.dirname, '../../../docs/api-reference.md'), 'utf8')
    const codes = [...reference.matchAll(/^\| `(\d{5})` \|/gm)].map(([, code]) => Number(code))
    expect(codes.length).toBeGreaterThan(20)
    const told = (code: number, language = 'zh') =>
      refusalIn(language, new HeraldError(code, Math.floor(code / 100), 'speed must be a number.'))
    expect(codes.filter((code) => !/[\u4e00-\u9fff]/.test(told(code).sentence ?? ''))).toEqual([])
    expect(told(40002).original).toBe('speed must be a number.')
    expect(told(40002, 'en')).toEqual({ original: 'speed must be a number.' })
    expect(told(49999)).toEqual({ original: 'speed must be a number.' })
    expect(told(40902)).not.toHaveProperty('original')
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
