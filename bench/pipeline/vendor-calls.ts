import type { VendorChannel } from '@herald/domain'

/** Vendors that take many devices in one plain HTTP call; `fcm` asks here for its access token alone. */
export type ListVendor = Exclude<VendorChannel, 'apns'>

/** Calls `each` with the place of every token in a body; what it cannot find it does not count. */
export type FindTokens = (body: Buffer, each: (start: number, end: number) => void) => void

/** One call of a vendor: where tokens stand in its body, and what a vendor that takes them all answers. */
export type VendorCall = { find?: FindTokens; answer(tokens: readonly string[]): string }

const pass = 'x'.repeat(120)
const quote = 0x22
const comma = 0x2c
const ampersand = 0x26

const oauth = always({ access_token: pass, expires_in: 3600, token_type: 'Bearer' })
const vivoDone = { result: 0, desc: 'success' }

/** By the end of the path, which no two calls of one vendor share. */
const calls: Record<ListVendor, Readonly<Record<string, VendorCall>>> = {
  fcm: { '/token': { answer: oauth } },
  huawei: {
    '/oauth2/v3/token': { answer: oauth },
    '/messages:send': {
      find: jsonList('token'),
      answer: always({ code: '80000000', msg: 'Success', requestId: '17600000000000001000000' }),
    },
  },
  honor: {
    '/auth/token': { answer: oauth },
    '/sendMessage': {
      find: jsonList('token'),
      answer: always({
        code: 200,
        message: 'success',
        data: { sendResult: true, requestId: '1760000000000000', failTokens: [], expireTokens: [] },
      }),
    },
  },
  xiaomi: {
    '/v3/message/regid': {
      find: formList('registration_id'),
      answer: always({
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
      answer: () =>
        JSON.stringify({
          code: 0,
          message: 'success',
          data: { auth_token: pass, create_time: Date.now() },
        }),
    },
    '/message/notification/unicast': {
      find: oppoTargets,
      answer: always({ code: 0, message: 'Success', data: { messageId: '1-1-1-1' } }),
    },
    '/message/notification/unicast_batch': { find: oppoTargets, answer: oppoReceipts },
  },
  vivo: {
    '/message/auth': { answer: always({ ...vivoDone, authToken: pass }) },
    '/message/saveListPayload': { answer: always({ ...vivoDone, taskId: '1' }) },
    '/message/pushToList': { find: jsonList('regIds'), answer: always({ ...vivoDone, requestId: '1' }) },
    '/message/send': { find: jsonText('regId'), answer: always({ ...vivoDone, taskId: '1' }) },
  },
  meizu: {
    '/pushByPushId': {
      find: formList('pushIds'),
      answer: always({ code: '200', message: '', value: {}, msgId: '1' }),
    },
  },
}

/** The call that a path of a vendor means; undefined when it is none that the sink knows. */
export function findCall(vendor: string, path: string): VendorCall | undefined {
  if (!Object.hasOwn(calls, vendor)) return undefined
  return Object.entries(calls[vendor as ListVendor]).find(([end]) => path.endsWith(end))?.[1]
}

function always(answer: object): () => string {
  const text = JSON.stringify(answer)
  return () => text
}

/** `"name":["a","b"]`; tokens of these vendors hold nothing that JSON escapes. */
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

/** `&name=a%2Cb`, never the first field of its form. */
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

/** OPPO names every device of a batch in its answer, and its worker has to read that. */
function oppoReceipts(tokens: readonly string[]): string {
  const entries = tokens.map((token, n) => `{"messageId":"1-1-1-${n}","registrationId":"${token}"}`)
  return `{"code":0,"message":"Success","data":[${entries.join()}]}`
}

function after(body: Buffer, open: Buffer, from = 0): number {
  const at = body.indexOf(open, from)
  return at < 0 ? -1 : at + open.length
}
