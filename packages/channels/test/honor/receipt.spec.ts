import { describe, expect, it } from '@jest/globals'
import { adapter as honor } from '../../src/honor/channel.ts'
import { sampleCertificate } from '../samples.ts'

function read(body: unknown, receipt_codes?: Record<string, string>) {
  const settings = honor.readSettings(
    sampleCertificate('honor', {
      appId: '104436234',
      appKey: 'c-1',
      appSecret: 's-1',
      extra: receipt_codes ? { receipt_codes } : {},
    }),
  )
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return honor.readCallback!({ headers: {}, query: {}, body: Buffer.from(text), now: 0 }, settings)
}

const entry = (over: object = {}) => ({
  biTag: '7001',
  appid: '104436234',
  token: 'TOK1',
  status: 40000002,
  timestamp: 1700000000100,
  requestId: 'r-1',
  ...over,
})
const success = {
  status: 200,
  contentType: 'application/json;charset=UTF-8',
  body: '{"code":"0","message":"success"}',
}

describe('honor receipts', () => {
  it.each([40000002, '40000002', 0])('reads %p as received', (status) => {
    expect(read({ statuses: [entry({ status })] })).toEqual({
      ok: true,
      receipts: [{ taskId: 7001, token: 'TOK1', event: 'received' }],
      response: success,
    })
  })

  it('never retires a token for an undocumented code', () => {
    expect(read({ statuses: [entry({ status: 2 })] })).toMatchObject({
      receipts: [
        { taskId: 7001, token: 'TOK1', event: 'dropped', reason: { code: 'honor.2', text: 'not delivered' } },
      ],
    })
  })

  it.each([
    ['delivered', { event: 'received' }],
    ['uninstalled', { event: 'gone', reason: { code: 'honor.77', text: 'uninstalled' } }],
    ['token-invalid', { event: 'gone', reason: { code: 'honor.77', text: 'token-invalid' } }],
    ['notify-off', { event: 'dropped', reason: { code: 'honor.77', text: 'notify-off' } }],
    ['throttled', { event: 'dropped', reason: { code: 'honor.77', text: 'throttled' } }],
    ['expired', { event: 'dropped', reason: { code: 'honor.77', text: 'expired' } }],
    ['other', { event: 'dropped', reason: { code: 'honor.77', text: 'other' } }],
  ])('uses the operator’s meaning of a code: %s', (meaning, expected) => {
    const reading = read({ statuses: [entry({ status: 77 })] }, { 77: meaning })
    expect(reading).toMatchObject({ receipts: [{ taskId: 7001, token: 'TOK1', ...expected }] })
  })

  it('prefers the operator’s meaning to the documented one', () => {
    expect(read({ statuses: [entry()] }, { 40000002: 'other' })).toMatchObject({
      receipts: [{ event: 'dropped' }],
    })
  })

  it('ignores pushes of other senders', () => {
    const foreign = [
      entry({ biTag: 'campaign' }),
      entry({ biTag: undefined }),
      entry({ appid: '1' }),
      entry({ token: 5 }),
      entry({ status: 'x' }),
      entry({ status: '' }),
      null,
    ]
    const reading = read({ statuses: [...foreign, entry({ appid: undefined })] })
    expect(reading.ok && reading.receipts).toEqual([{ taskId: 7001, token: 'TOK1', event: 'received' }])
  })

  it.each(['', 'x', '[]', '{}'])('refuses the body %j', (body) => {
    expect(read(body)).toMatchObject({ ok: false, response: { status: 400 } })
  })
})
