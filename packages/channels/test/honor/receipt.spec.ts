import { describe, expect, it } from '@jest/globals'
import { honor } from '../../src/honor/channel.ts'
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
      answer: success,
    })
  })

  it('never prunes on a code nobody explained', () => {
    expect(read({ statuses: [entry({ status: 2 })] })).toMatchObject({
      receipts: [{ taskId: 7001, token: 'TOK1', event: 'dropped', reason: '2' }],
    })
  })

  it.each([
    ['delivered', { event: 'received' }],
    ['uninstalled', { event: 'gone', reason: '77 uninstalled' }],
    ['token-invalid', { event: 'gone', reason: '77 token-invalid' }],
    ['notify-off', { event: 'dropped', reason: '77 notify-off' }],
    ['throttled', { event: 'dropped', reason: '77 throttled' }],
    ['expired', { event: 'dropped', reason: '77 expired' }],
    ['other', { event: 'dropped', reason: '77 other' }],
  ])('follows the operator who says that a code means %s', (meaning, expected) => {
    const reading = read({ statuses: [entry({ status: 77 })] }, { 77: meaning })
    expect(reading).toMatchObject({ receipts: [{ taskId: 7001, token: 'TOK1', ...expected }] })
  })

  it('lets the operator overrule the known code', () => {
    expect(read({ statuses: [entry()] }, { 40000002: 'other' })).toMatchObject({
      receipts: [{ event: 'dropped' }],
    })
  })

  it('passes over what is not about a push of ours', () => {
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
    expect(read(body)).toMatchObject({ ok: false, answer: { status: 400 } })
  })
})
