import { ownReasons } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { createCodeLabels } from '../src/code-label.ts'
import { tallyResults } from '../src/tally.ts'

describe('the label of a code', () => {
  it.each([
    ['apns.Unregistered', 'Unregistered'],
    ['xiaomi.-1', '-1'],
    ['huawei.80100000.noRight', '80100000'],
    ['oppo.http_502', 'http_502'],
    [ownReasons.vendor_timeout('').code, 'timeout'],
    [ownReasons.vendor_unreachable('').code, 'network'],
    [ownReasons.owner_changed.code, 'none'],
  ])('%s is %s', (code, label) => {
    expect(createCodeLabels()('apns', code)).toBe(label)
  })

  it('is one of sixty per channel, whatever a vendor replies', () => {
    const labelOf = createCodeLabels()
    const labels = new Set(Array.from({ length: 500 }, (_, i) => labelOf('xiaomi', `xiaomi.${i}`)))
    expect(labels.size).toBe(61)
    expect(labels).toContain('other')
    expect(labelOf('xiaomi', 'xiaomi.7')).toBe('7')
    expect(labelOf('honor', 'honor.499')).toBe('499')
  })
})

describe('tallyResults', () => {
  it('counts outcomes by kind and code whatever their text, without accepted and deferred recipients', () => {
    const gone = (text: string) => ({ kind: 'gone', reason: { code: 'apns.Unregistered', text } }) as const
    const tally = tallyResults([
      { kind: 'accepted' },
      gone('410 Unregistered'),
      undefined,
      gone('another wording'),
      { kind: 'deferred', reason: { code: 'herald.rate_limited', text: 'slow' }, wait: 1 },
      { kind: 'throttled', reason: { code: 'apns.http_429', text: 'HTTP 429' } },
    ])
    expect([...tally.values()]).toEqual([
      { kind: 'gone', reason: { code: 'apns.Unregistered', text: '410 Unregistered' }, count: 2 },
      { kind: 'throttled', reason: { code: 'apns.http_429', text: 'HTTP 429' }, count: 1 },
    ])
  })
})
