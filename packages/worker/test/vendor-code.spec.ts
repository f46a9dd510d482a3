import { describe, expect, it } from '@jest/globals'
import { tallyAnswers } from '../src/tally.ts'
import { createCodeBook, vendorCode } from '../src/vendor-code.ts'

describe('vendorCode', () => {
  it.each([
    ['410 Unregistered', 'Unregistered'],
    ['404 UNREGISTERED', 'UNREGISTERED'],
    ['20301 no valid target', '20301'],
    ['-1 vendor busy', '-1'],
    ['80300007 illegal token', '80300007'],
    ['HTTP 502', 'http_502'],
    ['status 3 inactive for 14 days', 'status_3'],
    ['oauth 1203 bad secret', 'oauth_1203'],
    ['bad_regids', 'bad_regids'],
    ['the vendor did not answer', 'none'],
    ['no answer within the time limit', 'none'],
    ['the call failed: read ECONNRESET', 'none'],
    ['', 'none'],
  ])('reads %j as %s', (reason, code) => {
    expect(vendorCode(reason)).toBe(code)
  })

  it('keeps what a token could look like out of labels', () => {
    expect(vendorCode('d'.repeat(152))).toBe('none')
    expect(vendorCode('1234567890123456 is no token')).toBe('none')
  })
})

describe('the code book', () => {
  it('names sixty codes of a channel, whatever a vendor answers', () => {
    const codeOf = createCodeBook()
    const codes = new Set(Array.from({ length: 500 }, (_, i) => codeOf('xiaomi', `${i} words`)))
    expect(codes.size).toBe(61)
    expect(codes).toContain('other')
    expect(codeOf('xiaomi', '7 words')).toBe('7')
    expect(codeOf('honor', '499 words')).toBe('499')
  })
})

describe('tallyAnswers', () => {
  it('gathers outcomes by kind and reason, and leaves out who was accepted or only waits', () => {
    const tally = tallyAnswers(
      new Map([
        [0, { kind: 'accepted' }],
        [1, { kind: 'gone', reason: '410 Unregistered' }],
        [2, { kind: 'gone', reason: '410 Unregistered' }],
        [3, { kind: 'held', wait: 1 }],
        [4, { kind: 'throttled', reason: 'HTTP 429' }],
      ]),
    )
    expect([...tally.values()]).toEqual([
      { kind: 'gone', reason: '410 Unregistered', count: 2 },
      { kind: 'throttled', reason: 'HTTP 429', count: 1 },
    ])
  })
})
