import { describe, expect, it } from '@jest/globals'
import { adapter as huawei } from '../../src/huawei/channel.ts'
import { sampleCertificate } from '../samples.ts'

const vector = {
  user: 'pushuser',
  key: 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
  timestamp: 1700000000123,
  nonce: 'a07bfa17-6d82-4b53-a9a2-07cfef5ceef1',
  decoded: 'tB9/NmJRHVZtcmCiRuL2D5OhKP7PLGmKkOv2pDEsQ5w=',
  raw: 'IPnU+/AS6i05i+02MPg1euTrXf3E4gu7Rgpyx1T8IlQ=',
}
const header = (value: string, timestamp: number | string = vector.timestamp) =>
  `timestamp=${timestamp}; nonce=${vector.nonce}; value=${value}`

function read(body: unknown, options: { header?: string; signed?: boolean; now?: number } = {}) {
  const settings = huawei.readSettings(
    sampleCertificate('huawei', {
      appId: '100200300',
      appSecret: 's3cr3t',
      extra: options.signed ? { callback_user: vector.user, callback_secret: vector.key } : {},
    }),
  )
  return huawei.readCallback!(
    {
      headers: options.header ? { 'x-huawei-callback-id': options.header } : {},
      query: {},
      body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
      now: options.now ?? vector.timestamp + 1000,
    },
    settings,
  )
}

const entry = (over: object = {}) => ({
  biTag: '7001',
  appid: '100200300',
  token: 'IQAAAACy0A',
  status: 0,
  timestamp: 1700000000100,
  requestId: '157440955549500001002006',
  ...over,
})
const success = {
  status: 200,
  contentType: 'application/json;charset=UTF-8',
  body: '{"code":"0","message":"success"}',
}

describe('huawei receipts', () => {
  const codes: [status: number, event: string | undefined][] = [
    [0, 'received'],
    [2, 'gone'],
    [5, 'gone'],
    [6, 'dropped'],
    [10, 'dropped'],
    [14, 'dropped'],
    [15, 'dropped'],
    [22, 'dropped'],
    [27, undefined],
    [31, 'dropped'],
    [51, undefined],
    [102, 'dropped'],
    [144, 'dropped'],
    [201, 'dropped'],
    [256, 'dropped'],
    [259, 'dropped'],
    [9999, 'dropped'],
  ]
  it.each(codes)('reads code %d as %s in both versions', (status, event) => {
    const v1 = entry({ status })
    const v2 = {
      token: 'IQAAAACy0A',
      pushType: 0,
      biTag: '7001',
      deliveryStatus: { result: status, timestamp: 1 },
    }
    const reason =
      status === 0 ? {} : { reason: { code: `huawei.${status}`, text: `receipt status ${status}` } }
    const expected = event ? [{ taskId: 7001, token: 'IQAAAACy0A', event, ...reason }] : []
    for (const item of [v1, v2])
      expect(read({ statuses: [item] })).toEqual({ ok: true, receipts: expected, response: success })
  })

  it('reports why the server dropped a message', () => {
    const reading = read({ statuses: [entry({ status: 201, subStatus: 6 })] })
    expect(reading).toMatchObject({
      receipts: [{ event: 'dropped', reason: { code: 'huawei.201.6', text: 'receipt status 201/6' } }],
    })
  })

  it('reads receipts with an App ID that is not the client id', () => {
    const statuses = [entry({ appid: '999' }), { ...entry({ appid: undefined }), clientId: '999' }]
    const received = { taskId: 7001, token: 'IQAAAACy0A', event: 'received' }
    expect(read({ statuses })).toMatchObject({ ok: true, receipts: [received, received] })
  })

  it('ignores pushes of other senders', () => {
    const foreign = [
      entry({ biTag: 'campaign-7' }),
      entry({ biTag: undefined }),
      entry({ biTag: '99999999999999999999' }),
      entry({ token: '' }),
      entry({ status: 'x' }),
      null,
      'text',
    ]
    const reading = read({ statuses: [...foreign, entry()] })
    expect(reading).toMatchObject({ ok: true, response: success })
    expect(reading.ok && reading.receipts).toEqual([{ taskId: 7001, token: 'IQAAAACy0A', event: 'received' }])
  })

  it.each([null, '', ' ', [], true, 1.5])('does not count the status %j', (status) => {
    const v2 = { token: 'IQAAAACy0A', biTag: '7001', deliveryStatus: { result: status } }
    expect(read({ statuses: [entry({ status }), v2] })).toMatchObject({ ok: true, receipts: [] })
  })

  it.each(['', 'x', '[]', '{}', '{"statuses":{}}'])('refuses the body %j', (body) => {
    expect(read(body)).toMatchObject({ ok: false, response: { status: 400 } })
  })

  it.each([
    ['the decoded key', vector.decoded],
    ['the raw key', vector.raw],
  ])('accepts a signature by %s', (_name, value) => {
    expect(read({ statuses: [entry()] }, { signed: true, header: header(value) }).ok).toBe(true)
  })

  it('refuses a wrong signature, a changed time and an invalid value', () => {
    const wrong = [
      header(vector.decoded.replace('t', 'u')),
      header(vector.decoded, vector.timestamp + 1),
      header(''),
      'value',
      `value=${vector.decoded}`,
    ]
    for (const one of wrong)
      expect(read({ statuses: [entry()] }, { signed: true, header: one })).toMatchObject({
        ok: false,
        response: { status: 401 },
      })
  })

  it.each([-301_000, 301_000])('refuses a valid signature %d ms away', (away) => {
    const now = vector.timestamp + away
    expect(
      read({ statuses: [entry()] }, { signed: true, header: header(vector.decoded), now }),
    ).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/too old/),
    })
  })

  it('replies with success to an unsigned test of the console, without counting it', () => {
    const reading = read({ statuses: [entry()] }, { signed: true })
    expect(reading).toMatchObject({ ok: false, response: success })
    expect(reading).not.toHaveProperty('receipts')
  })
})
