import { describe, expect, it } from '@jest/globals'
import { adapter as vivo } from '../../src/vivo/channel.ts'
import { vivoCertificate } from './fixtures.ts'

const token = '15638535410301000000001'
const other = '15638535410301000000002'

function read(body: string) {
  const request = { headers: {}, query: {}, body: Buffer.from(body), now: 0 }
  return vivo.readCallback!(request, vivo.readSettings(vivoCertificate()))
}
function receipts(body: unknown) {
  const reading = read(typeof body === 'string' ? body : JSON.stringify(body))
  if (!reading.ok) throw new Error(reading.problem)
  return reading.receipts
}

describe('a vivo receipt', () => {
  it('in the vendor’s form reports a delivery, and gets the documented response', () => {
    const reading = read(
      `{"121397329":{"targets":"${token}","param":"4503599627370497","ackTime":1750000003210,"ackType":"0"}}`,
    )
    expect(reading).toEqual({
      ok: true,
      receipts: [{ taskId: 4503599627370497, token, event: 'received' }],
      response: { status: 200, contentType: 'application/json', body: '{"result":0}' },
    })
  })

  const forms: [what: string, targets: string][] = [
    ['a comma list', `"${token}, ${other}"`],
    ['a list', `["${token}","${other}"]`],
    ['numbers', `[${token},${other}]`],
  ]
  it.each(forms)('takes targets as %s', (_what, targets) => {
    expect(
      receipts(`{"1":{"targets":${targets},"param":"7","ackType":"0"}}`).map((one) => one.token),
    ).toEqual([token, other])
  })

  it('reads every entry of a body', () => {
    const body = {
      '1': { targets: token, param: '7', ackType: '0' },
      '2': { targets: other, param: '8', ackType: '0' },
    }
    expect(receipts(body).map((one) => [one.taskId, one.token])).toEqual([
      [7, token],
      [8, other],
    ])
  })

  it('of the older form, without ackType, is a delivery', () => {
    expect(receipts({ '1': { targets: token, param: '7' } })).toEqual([
      { taskId: 7, token, event: 'received' },
    ])
  })

  const failures: [fields: object, event: string, code: string][] = [
    [{ ackType: '1' }, 'dropped', 'ackType_1'],
    [{ ackType: 1, subCode: 2124 }, 'dropped', '2124'],
    [{ ackType: '1', reason: '12000' }, 'dropped', '12000'],
    [{ ackType: '20006' }, 'dropped', '20006'],
    [{ ackType: '1', code: '2183' }, 'gone', '2183'],
    [{ ackType: '20001' }, 'gone', '20001'],
    [{ ackType: 1, why: 20002 }, 'gone', '20002'],
  ]
  it.each(failures)('with %j is %s by %s', (fields, event, code) => {
    expect(receipts({ '1': { targets: token, param: '7', ...fields } })).toEqual([
      { taskId: 7, token, event, reason: { code: `vivo.${code}`, text: expect.any(String) } },
    ])
  })

  it('does not read a time or a task id as a reason', () => {
    const entry = { targets: token, param: '2183', ackTime: 20001, ackType: '1' }
    expect(receipts({ '1': entry })).toMatchObject([{ event: 'dropped', reason: { code: 'vivo.ackType_1' } }])
  })

  it('without our parameter belongs to task 0, with another one it is ignored', () => {
    expect(receipts({ '1': { targets: token, ackType: '0' } })).toMatchObject([{ taskId: 0 }])
    expect(receipts({ '1': { targets: token, param: 'job-77', ackType: '0' } })).toEqual([])
    expect(receipts({ '1': { targets: token, param: '99999999999999999999', ackType: '0' } })).toEqual([])
  })

  it.each([['{"1":null}'], ['{"1":7,"2":[]}'], ['{"1":{"targets":null,"param":"7"}}'], ['{}']])(
    'ignores %s',
    (body) => {
      expect(receipts(body)).toEqual([])
    },
  )

  it.each(['', 'nonsense', '[]', 'null', '7'])('refuses %j', (body) => {
    expect(read(body)).toMatchObject({ ok: false, response: { status: 400 } })
  })
})
