import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { reasonKindNames } from '@herald/channels/reason-kinds'
import { HeraldError } from '@herald/client'
import { auditActions, eventNames, ownReasonNames } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { en } from '../src/i18n/en.ts'
import { errorTextIn } from '../src/i18n/error-texts.ts'
import { keyOf } from '../src/i18n/key-of.ts'
import { zh } from '../src/i18n/zh.ts'
import { chinese, english, untranslated } from './dictionary.ts'

const placeholders = (text: string) => (text.match(/{{\w+}}/g) ?? []).sort()

describe('the dictionaries', () => {
  it('have the same keys in every language', () => {
    expect([...chinese.keys()].sort()).toEqual(english.map(([key]) => key).sort())
  })

  it('have no blank texts, and the same placeholders', () => {
    for (const [key, text] of english) {
      const other = chinese.get(key) ?? ''
      expect([key, other.trim()]).not.toEqual([key, ''])
      expect([key, placeholders(other)]).toEqual([key, placeholders(text)])
    }
  })

  it('differ, except for names', () => {
    // Fields of the API, and what the vendors' consoles call a credential.
    const isName = (text: string) => /^`[\w.]+`$|^App (ID|Key|Secret)$/.test(text)
    const same = english
      .filter(([key, text]) => chinese.get(key) === text && !isName(text))
      .map(([key]) => key)
    expect(same).toEqual([
      'app.name',
      'send.previewIphone',
      'platform.ios',
      'platform.harmony',
      'card.apns.title',
      'card.vivo.title',
      'card.vivo.addresses.vivo.about',
      'card.oppo.title',
      'card.oppo.addresses.oppo.about',
      'card.fcm.title',
      'card.fcm.addresses.fcm.about',
    ])
  })

  it('have English texts that are recognised on a page', () => {
    const found = (text: string) => untranslated.some((pattern) => pattern.test(text))
    expect(['Sign out', 'Task 42', '12 of 13 devices'].map(found)).toEqual([true, true, true])
    expect(['退出登录', 'vivo', 'demo-iphone'].map(found)).toEqual([false, false, false])
  })

  it('have a Chinese text for every code of the API, shown with the message that names the field', () => {
    const reference = readFileSync(join(import.meta.dirname, '../../../docs/api-reference.md'), 'utf8')
    const codes = [...reference.matchAll(/^\| `(\d{5})` \|/gm)].map(([, code]) => Number(code))
    expect(codes.length).toBeGreaterThan(20)
    const shown = (code: number, language = 'zh') =>
      errorTextIn(language, new HeraldError(code, Math.floor(code / 100), 'speed must be a number.'))
    expect(codes.filter((code) => !/[\u4e00-\u9fff]/.test(shown(code).translated ?? ''))).toEqual([])
    expect(shown(40002)).toEqual({ translated: 'speed：应为数字。' })
    const unusual = new HeraldError(40002, 400, 'speed is odd.')
    expect(errorTextIn('zh', unusual)).toMatchObject({ original: 'speed is odd.' })
    expect(shown(40002, 'en')).toEqual({ original: 'speed must be a number.' })
    expect(shown(49999)).toEqual({ original: 'speed must be a number.' })
    expect(shown(40902)).not.toHaveProperty('original')
  })

  it('have a text for exactly the reasons of Herald', () => {
    for (const { reasonCode } of [en, zh])
      expect(Object.keys(reasonCode).sort()).toEqual([...ownReasonNames].sort())
  })

  it('have a text and an advice for exactly the kinds of vendors’ reasons', () => {
    const kinds = [...reasonKindNames, 'unknown'].sort()
    for (const { reasonKind, reasonAdvice } of [en, zh])
      expect([Object.keys(reasonKind).sort(), Object.keys(reasonAdvice).sort()]).toEqual([kinds, kinds])
  })

  it('have a text for exactly the events and the audited actions', () => {
    for (const { event, auditAction } of [en, zh]) {
      expect(Object.keys(event).sort()).toEqual(eventNames.map(keyOf).sort())
      expect(Object.keys(auditAction).sort()).toEqual(auditActions.map(keyOf).sort())
    }
  })

  it('contain all texts of the pages', () => {
    const folder = join(import.meta.dirname, '../src')
    const loose = globSync('**/*.tsx', { cwd: folder }).flatMap((path) =>
      [...readFileSync(join(folder, path), 'utf8').matchAll(/^\s*([A-Z][a-z]+( [a-z]+)+\.?)$/gm)].map(
        ([, text]) => `${path}: ${text}`,
      ),
    )
    expect(loose).toEqual([])
  })
})
