import { type VendorChannel, vendorChannels } from '@herald/domain'

/** Calls `each` with the position of every token in a body. */
export type FindTokens = (body: Buffer, each: (start: number, end: number) => void) => void

/** One call of a vendor: where the tokens are in its body, and the response that accepts them all. */
export type VendorCall = { find?: FindTokens; response(tokens: readonly string[]): string }

const accessToken = 'x'.repeat(120)
const quote = 0x22
const comma = 0x2c
const ampersand = 0x26

const oauth = always({ access_token: accessToken, expires_in: 3600, token_type: 'Bearer' })
const vivoDone = { result: 0, desc: 'success' }

/** By the end of the path, which is unique among the calls of a vendor. Pushes of `apns` and `fcm` go to the sinks for HTTP/2. */
const calls: Partial<Record<VendorChannel, Readonly<Record<string, VendorCall>>>> = {
  apns: {},
  fcm: { '/token': { response: oauth } },
  huawei: {
    '/oauth2/v3/token': { response: oauth },
    '/messages:send': {
      find: jsonList('token'),
      response: always({ code: '80000000', msg: 'Success', requestId: '17600000000000001000000' }),
    },
  },
  honor: {
    '/auth/token': { response: oauth },
    '/sendMessage': {
      find: jsonList('token'),
      response: always({
        code: 200,
        message: 'success',
        data: { sendResult: true, requestId: '1760000000000000', failTokens: [], expireTokens: [] },
      }),
    },
  },
  xiaomi: {
    '/v3/message/regid': {
      find: formList('registration_id'),
      response: always({
        result: 'ok',
        trace_id: 'Xdm1',
        code: 0,
        data: { id: 'sdm1' },
        description: '成功',
        info: 'Received push messages',
      }),
    },
  },
  oppo: {
    '/server/v1/auth': {
      response: () =>
        JSON.stringify({
          code: 0,
          message: 'success',
          data: { auth_token: accessToken, create_time: Date.now() },
        }),
    },
    '/message/notification/unicast': {
      find: oppoTargets,
      response: always({ code: 0, message: 'Success', data: { messageId: '1-1-1-1' } }),
    },
    '/message/notification/unicast_batch': { find: oppoTargets, response: oppoReceipts },
  },
  vivo: {
    '/message/auth': { response: always({ ...vivoDone, authToken: accessToken }) },
    '/message/saveListPayload': { response: always({ ...vivoDone, taskId: '1' }) },
    '/message/pushToList': { find: jsonList('regIds'), response: always({ ...vivoDone, requestId: '1' }) },
    '/message/send': { find: jsonText('regId'), response: always({ ...vivoDone, taskId: '1' }) },
  },
  meizu: {
    '/pushByPushId': {
      find: formList('pushIds'),
      response: always({ code: '200', message: '', value: {}, msgId: '1' }),
    },
  },
}

/** Vendors that the mixed broadcast includes. */
export const measuredVendors = vendorChannels.filter((channel) => channel in calls)

/** Returns the call of a vendor at `path`; undefined if the sink does not know it. */
export function findCall(vendor: string, path: string): VendorCall | undefined {
  const known = measuredVendors.find((one) => one === vendor)
  return known && Object.entries(calls[known]!).find(([end]) => path.endsWith(end))?.[1]
}

function always(response: object): () => string {
  const text = JSON.stringify(response)
  return () => text
}

/** `"name":["a","b"]`; tokens of these vendors contain no characters that JSON escapes. */
function jsonList(name: string): FindTokens {
  const open = Buffer.from(`"${name}":["`)
  return (body, each) => {
    let at = after(body, open)
    while (at >= 0) {
      const end = body.indexOf(quote, at)
      if (end < 0) return
      each(at, end)
      at = body[end + 1] === comma ? end + 3 : -1
    }
  }
}

/** `"name":"a"` */
function jsonText(name: string): FindTokens {
  const open = Buffer.from(`"${name}":"`)
  return (body, each) => {
    const at = after(body, open)
    const end = at < 0 ? -1 : body.indexOf(quote, at)
    if (end >= 0) each(at, end)
  }
}

/** `&name=a%2Cb`; the field is never the first of its form. */
function formList(name: string): FindTokens {
  const open = Buffer.from(`&${name}=`)
  const between = Buffer.from('%2C')
  return (body, each) => {
    let at = after(body, open)
    if (at < 0) return
    const found = body.indexOf(ampersand, at)
    const last = found < 0 ? body.length : found
    for (;;) {
      const next = body.indexOf(between, at)
      if (next < 0 || next > last) break
      each(at, next)
      at = next + between.length
    }
    each(at, last)
  }
}

const targetOpen = Buffer.from(encodeURIComponent('"target_value":"'))
const targetClose = Buffer.from(encodeURIComponent('"'))

/** The whole notification is repeated for every device. */
function oppoTargets(body: Buffer, each: (start: number, end: number) => void): void {
  for (let at = after(body, targetOpen); at >= 0; at = after(body, targetOpen, at)) {
    const end = body.indexOf(targetClose, at)
    if (end < 0) return
    each(at, end)
    at = end
  }
}

/** OPPO lists every device of a batch in its response, which the worker has to parse. */
function oppoReceipts(tokens: readonly string[]): string {
  const entries = tokens.map((token, n) => `{"messageId":"1-1-1-${n}","registrationId":"${token}"}`)
  return `{"code":0,"message":"Success","data":[${entries.join()}]}`
}

function after(body: Buffer, open: Buffer, from = 0): number {
  const at = body.indexOf(open, from)
  return at < 0 ? -1 : at + open.length
}
