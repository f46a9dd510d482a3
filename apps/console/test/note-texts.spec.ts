import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { healthWarnings } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { noteIn } from '../src/i18n/note-texts.ts'

const packages = join(import.meta.dirname, '../../..')

const LITERAL = /'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/.source
/** A string or a template, or several that are added. */
const TEXT = new RegExp(`(?:${LITERAL})(?:\\s*\\+\\s*(?:${LITERAL}))*`, 'g')

/** The sentences in the code of a file, with a name in place of each expression. */
function sentencesIn(path: string): string[] {
  const code = readFileSync(join(packages, path), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  return [...code.matchAll(TEXT)]
    .map(([text]) =>
      [...text.matchAll(new RegExp(LITERAL, 'g'))]
        .map(([literal]) => literal.slice(1, -1).replaceAll(/\$\{[^}]*\}/g, 'NAME'))
        .join(''),
    )
    .filter((text) => /^\S+ .+\.$/.test(text))
}

const files = [
  ...globSync('packages/channels/src/*/{notes,warnings}.ts', { cwd: packages }),
  'packages/channels/src/message-notes.ts',
  'apps/api/src/certificates/warnings.ts',
]
const AS_MARKETING = 'as marketing: silent, text only, at most 2 per device and day'

describe('a note of the API', () => {
  const sentences = files.flatMap(sentencesIn).map((text) =>
    // Huawei's sentences share this part.
    text.replace(/(treats (?:it|service messages)) NAME/, `$1 ${AS_MARKETING}`),
  )

  it('has a Chinese text, whichever adapter or certificate it is about', () => {
    expect(sentences.length).toBeGreaterThan(45)
    expect(sentences.filter((text) => noteIn('zh', text) === undefined)).toEqual([])
  })

  it('about the state of credentials has one too', () => {
    const at = { since: 1_794_800_000, until: 1_794_900_000, code: 'oppo.10070', reason: '10070 used up' }
    const health = {
      breaker: { since: at.since, retry_at: at.until, code: 'oppo.http_500', reason: 'HTTP 500' },
      holds: [
        { ...at, scope: 'without receipts', kind: 'rejected', active: true },
        { ...at, scope: 'without receipts', kind: 'rejected', active: false },
        { ...at, scope: 'quota marketing', kind: 'quota', active: true },
        { ...at, scope: 'quota marketing', kind: 'quota', active: false },
        { ...at, scope: 'class service', kind: 'rejected', active: true },
        { ...at, scope: 'class service', kind: 'rejected', active: false },
      ] as const,
      check_error: 'OPPO refused the credentials: 16 signature refused',
      check_error_at: at.since,
    }
    const warnings = healthWarnings('OPPO', health)
    expect(warnings).toHaveLength(8)
    for (const warning of warnings) {
      const chinese = noteIn('zh', warning)
      expect([warning, chinese]).toEqual([warning, expect.stringMatching(/[\u4e00-\u9fff]/)])
      expect(chinese).not.toMatch(/[{}]/)
      // Parts of the messages have Chinese names.
      expect(chinese).not.toMatch(/messages of|class service|receipts/)
    }
  })

  it('about what a vendor refuses keeps the vendor’s words', () => {
    const warning =
      'OPPO has refused messages of class service since 2026-11-16 10:00 UTC: topic is wrong. They are not sent until 2026-11-17 10:00 UTC; all others are.'
    expect(noteIn('zh', warning)).toBe(
      'OPPO自 2026-11-16 10:00 UTC 起拒绝服务与通讯类消息：topic is wrong. 在 2026-11-17 10:00 UTC 之前不发送这些消息，其余照常发送。',
    )
  })

  it('about a Live Activity that cannot be recalled has one too', () => {
    const reason = 'A Live Activity is changed or ended by its next event.'
    expect(noteIn('zh', reason)).toBe('实时活动不能撤回，由它的下一个事件更新或结束。')
  })

  it('keeps the names in it, and is English to an English reader', () => {
    const note = 'Meizu has no room for ext: it is left out.'
    expect(noteIn('zh', note)).toBe('魅族容纳不下 ext，不会发送该字段。')
    expect(noteIn('en', note)).toBe(note)
    expect(noteIn('zh', 'Something new.')).toBeUndefined()
  })
})
