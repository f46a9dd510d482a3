import type { SimReply } from '../shared/sim-server.ts'

/** A refusal in Huawei's words. */
export type Answer = { code: string; msg: string }

export function answer(code: string, msg: string): Answer {
  return { code, msg }
}

/** Which HTTP status goes with a code is not documented; clients must decide by the code. */
export function toReply({ code, msg }: Answer, requestId: string): SimReply {
  return { status: statusOf(code), body: { code, msg, requestId } }
}

function statusOf(code: string): number {
  if (['80000000', '80100000', '80300007'].includes(code)) return 200
  if (code.startsWith('802')) return 401
  return code === '81000001' ? 500 : 400
}

/** Seconds as text, with or without an s, up to nine decimals, at most fifteen days. */
export function ttlProblem(ttl: unknown): string | undefined {
  const seconds = typeof ttl === 'string' ? /^(\d+(?:\.\d{1,9})?)[sS]?$/.exec(ttl)?.[1] : undefined
  if (seconds === undefined) return 'ttl must be seconds such as 86400s'
  return Number(seconds) <= 1_296_000 ? undefined : 'ttl must be at most 1296000s'
}
