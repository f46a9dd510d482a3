import { describe, expect, it } from '@jest/globals'
import { adapter as meizu } from '../../src/meizu/channel.ts'
import { meizuCertificate } from './fixtures.ts'

const a = 'RA50c6348036344485d01776773577c64740465480a6b'
const b = 'J0476035d625e6c64567f71487e040e7d017f0558675b'
const msgId = 'c2ee5c3bf00448cfbceb7fdf68c3c8eb'

function read(body: string, extra: Record<string, unknown> = {}, query: Record<string, string> = {}) {
  const request = { headers: {}, query, body: Buffer.from(body), now: 0 }
  return meizu.readCallback!(request, meizu.readSettings(meizuCertificate({ extra })))
}
const form = (cb: unknown, access_token = 's3cr3t') =>
  new URLSearchParams({ access_token, cb: typeof cb === 'string' ? cb : JSON.stringify(cb) }).toString()
function receipts(cb: unknown) {
  const reading = read(form(cb))
  if (!reading.ok) throw new Error(reading.problem)
  return reading.receipts
}

describe('a Meizu receipt', () => {
  it('in the vendor’s form lists deliveries and clicks', () => {
    const cb = {
      [`${msgId}-1`]: { param: '4503599627370497', type: 1, targets: [a, b] },
      [`${msgId}-2`]: { param: '4503599627370497', type: 2, targets: [a] },
    }
    expect(read(form(cb), { receipt_token: 's3cr3t' })).toEqual({
      ok: true,
      receipts: [
        { taskId: 4503599627370497, token: a, event: 'received' },
        { taskId: 4503599627370497, token: b, event: 'received' },
        { taskId: 4503599627370497, token: a, event: 'clicked' },
      ],
      response: { status: 200, contentType: 'text/plain', body: '' },
    })
  })

  it('reads the example of the vendor’s page', () => {
    const body =
      'access_token=s3cr3t&cb=%7B%22c2ee5c3bf00448cfbceb7fdf68c3c8eb-1%22%3A%7B%22param%22%3A%2277%22%2C%22type%22%3A1%2C%22targets%22%3A%5B%22RA50c6348036344485d01776773577c64740465480a6b%22%5D%7D%7D'
    expect(read(body)).toMatchObject({ receipts: [{ taskId: 77, token: a, event: 'received' }] })
  })

  it.each(['wrong', '', 's3cr3t '])(
    'with the token %j is refused when the certificate names one',
    (token) => {
      expect(read(form({}, token), { receipt_token: 's3cr3t' })).toMatchObject({
        ok: false,
        response: { status: 403 },
      })
    },
  )

  it('accepts any token when the certificate has none', () => {
    expect(read(form({}, 'whatever'))).toMatchObject({ ok: true })
  })

  it('reads the type from the key when the entry has none', () => {
    expect(receipts({ 'odd-msg-2': { param: '7', targets: [a] } })).toMatchObject([{ event: 'clicked' }])
  })

  it('is read from a JSON body too', () => {
    const items = { [`${msgId}-1`]: { param: '7', type: '1', targets: [a] } }
    const expected = { ok: true, receipts: [{ taskId: 7, token: a, event: 'received' }] }
    expect(read(JSON.stringify(items))).toMatchObject(expected)
    const token = { receipt_token: 's3cr3t' }
    expect(read(JSON.stringify({ cb: items, access_token: 's3cr3t' }), token)).toMatchObject(expected)
    expect(
      read(JSON.stringify({ cb: JSON.stringify(items) }), token, { access_token: 's3cr3t' }),
    ).toMatchObject(expected)
    expect(read(JSON.stringify(items), token)).toMatchObject({ ok: false })
  })

  it.each([
    [{ 'm-1': { param: 'job-77', type: 1, targets: [a] } }],
    [{ 'm-3': { param: '7', type: 3, targets: [a] } }],
    [{ 'm-1': { param: '7', type: 'constructor', targets: [a] } }],
    [{ 'm-1': { param: '7', type: 1, targets: a } }],
    [{ 'm-1': { param: '7', type: 1, targets: [7, null, ''] } }],
    [{ 'm-1': null, 'n-1': 'text' }],
    [{}],
  ])('ignores %j', (cb) => {
    expect(receipts(cb)).toEqual([])
  })

  it.each(['', 'cb=', 'cb=nonsense', 'cb=[]', 'a=b', '[]'])('refuses %j', (body) => {
    expect(read(body)).toMatchObject({ ok: false, response: { status: 400 } })
  })
})
