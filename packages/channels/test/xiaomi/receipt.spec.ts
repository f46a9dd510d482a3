import { describe, expect, it } from '@jest/globals'
import { readCallback } from '../../src/xiaomi/receipt.ts'

const read = (data: unknown) =>
  readCallback({
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    query: {},
    body: Buffer.from(new URLSearchParams({ data: JSON.stringify(data) }).toString()),
    now: 0,
  })

describe('xiaomi receipts', () => {
  it('reads several messages and targets of one post', () => {
    expect(
      read({
        scm1: {
          param: '42',
          type: 1,
          targets: 'R+1, R/2 ,',
          jobkey: '16',
          barStatus: 'Enable',
          timestamp: 1,
        },
        scm2: { param: '43', type: 2, targets: 'R3' },
      }),
    ).toEqual({
      ok: true,
      receipts: [
        { taskId: 42, token: 'R+1', event: 'received' },
        { taskId: 42, token: 'R/2', event: 'received' },
        { taskId: 43, token: 'R3', event: 'clicked' },
      ],
      response: { status: 200, contentType: 'text/plain', body: '' },
    })
  })

  it.each([
    [1, 'received'],
    [2, 'clicked'],
    [16, 'gone'],
    [32, 'dropped'],
    [64, 'dropped'],
    [128, 'dropped'],
  ])('reads type %i as %s', (type, event) => {
    expect(read({ scm1: { param: '42', type, targets: 'R1' } })).toMatchObject({
      receipts: [{ taskId: 42, token: 'R1', event }],
    })
    expect(read({ scm1: { param: '42', type: String(type), targets: 'R1' } })).toMatchObject({
      receipts: [{ event }],
    })
  })

  it('does not retire a token that Xiaomi has replaced by another one', () => {
    const invalid = { param: '42', type: 16, targets: 'R1,R2', replaceTarget: { R1: 'R9' } }
    expect(read({ scm1: invalid })).toMatchObject({
      receipts: [
        { taskId: 42, token: 'R1', event: 'dropped', reason: { code: 'xiaomi.replaceTarget' } },
        { taskId: 42, token: 'R2', event: 'gone', reason: { code: 'xiaomi.16' } },
      ],
    })
    expect(read({ scm1: { ...invalid, type: 1 } })).toMatchObject({
      receipts: [{ event: 'received' }, { event: 'received' }],
    })
  })

  it.each([null, 7, 'R1', [], ['R1'], {}])('accepts %j as the tokens that were replaced', (replaceTarget) => {
    expect(read({ scm1: { param: '42', type: 16, targets: 'R1', replaceTarget } })).toMatchObject({
      receipts: [{ token: 'R1', event: 'gone' }],
    })
  })

  it('keeps a receipt without param, for task 0', () => {
    expect(
      read({ axo1: { extra: { ack: '9800', quota: '10000' }, type: 128, targets: 'R3' } }),
    ).toMatchObject({ receipts: [{ taskId: 0, token: 'R3', event: 'dropped' }] })
  })

  it.each([
    ['of another sender', { param: 'job-42', type: 1, targets: 'R1' }],
    ['of an unknown type', { param: '42', type: 7, targets: 'R1' }],
    ['without targets', { param: '42', type: 1 }],
    ['that are no object', 'x'],
    ['with a task id out of range', { param: '99999999999999999', type: 1, targets: 'R1' }],
  ])('ignores items %s', (_, item) => {
    expect(read({ scm1: item, scm2: { param: '42', type: 1, targets: 'R2' } })).toMatchObject({
      ok: true,
      receipts: [{ taskId: 42, token: 'R2' }],
    })
  })

  it.each(['', 'other=1', 'data=', 'data=[]', 'data={', 'data=%FF'])('refuses the body %j', (body) => {
    expect(readCallback({ headers: {}, query: {}, body: Buffer.from(body), now: 0 })).toMatchObject({
      ok: false,
      response: { status: 400 },
    })
  })
})
