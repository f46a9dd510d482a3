import type { SimReply } from '../frame/server.ts'

/** A result in Huawei's terms. */
export type Answer = { code: string; msg: string }

export function answer(code: string, msg: string): Answer {
  return { code, msg }
}

/** The HTTP status of each code is not documented; clients must decide by the code. */
export function toReply({ code, msg }: Answer, requestId: string): SimReply {
  return { status: statusOf(code), body: { code, msg, requestId } }
}

function statusOf(code: string): number {
  if (['80000000', '80100000', '80300007'].includes(code)) return 200
  if (code.startsWith('802')) return 401
  return code === '81000001' ? 500 : 400
}
