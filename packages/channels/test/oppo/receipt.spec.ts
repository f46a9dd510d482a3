import { describe, expect, it } from '@jest/globals'
import { readCallback } from '../../src/oppo/receipt.ts'

const read = (body: unknown) =>
  readCallback({
    headers: { 'content-type': 'application/json' },
    query: {},
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    now: 0,
  })
const event = (over: Record<string, unknown> = {}) => ({
  messageId: '3000001-1-1-622ff7cfae27668d2ed3afec',
  appId: '3000001',
  taskId: '3000001-1-1-622ff7cfae27668d2ed3afec',
  registrationIds: 'T1',
  eventTime: '1760000003000',
  param: '42',
  eventType: 'push_arrive',
  ...over,
})

describe('oppo receipts', () => {
  it('reads several events of one post, with spaces between ids', () => {
    expect(
      read([
        event({ registrationIds: 'T1, T2' }),
        event({ registrationIds: 'T3', eventType: 'regid_invalid' }),
      ]),
    ).toEqual({
      ok: true,
      receipts: [
        { taskId: 42, token: 'T1', event: 'received' },
        { taskId: 42, token: 'T2', event: 'received' },
        {
          taskId: 42,
          token: 'T3',
          event: 'gone',
          reason: { code: 'oppo.regid_invalid', text: 'regid_invalid' },
        },
      ],
      response: { status: 200, contentType: 'text/plain', body: '' },
    })
  })

  it('reads the daily limit of a device as dropped', () => {
    expect(read([event({ eventType: 'user_daily_limit' })])).toMatchObject({
      receipts: [{ event: 'dropped', reason: { code: 'oppo.user_daily_limit' } }],
    })
  })

  it('accepts numbers for strings, and every form of the application’s id', () => {
    expect(read([event({ appId: 3000001, eventTime: 1, param: 42 })])).toMatchObject({
      receipts: [{ taskId: 42, token: 'T1' }],
    })
    expect(read([event({ appId: 'ZngnvJIM7wQusNtbqYnpH6XX' })])).toMatchObject({ receipts: [{ taskId: 42 }] })
  })

  it.each([
    ['of another sender', event({ param: 'job-42' })],
    ['of an unknown type', event({ eventType: 'toString' })],
    ['without ids', event({ registrationIds: undefined })],
    ['that are no object', 7],
  ])('ignores items %s', (_, item) => {
    expect(read([item, event()])).toMatchObject({ ok: true, receipts: [{ token: 'T1' }] })
  })

  it.each(['', '{}', '[', 'x=1'])('refuses the body %j', (body) => {
    expect(read(body)).toMatchObject({ ok: false, response: { status: 400 } })
  })
})
