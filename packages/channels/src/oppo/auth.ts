import { createHash } from 'node:crypto'
import type { MintedSession } from '../channel.ts'
import { type HttpReply, parseObject, readInteger } from '../shared/http.ts'
import type { OppoSettings } from './settings.ts'

const hourMs = 3_600_000

/** SHA-256 over key, time and Master Secret, https://open.oppomobile.com/new/developmentDoc/info?id=11234. */
export function signAuth(appKey: string, timestamp: string, masterSecret: string): string {
  return createHash('sha256')
    .update(appKey + timestamp + masterSecret)
    .digest('hex')
}

export function authForm({ appKey, masterSecret }: OppoSettings, nowMs: number): string {
  const timestamp = String(nowMs)
  const sign = signAuth(appKey, timestamp, masterSecret)
  return new URLSearchParams({ app_key: appKey, timestamp, sign }).toString()
}

/**
 * Returns the token of a successful reply, or undefined. It lives for 24 hours from create_time, which is in the past when OPPO
 * returns an existing token; an impossible create_time is ignored.
 */
export function readAuth(reply: HttpReply, nowMs: number): MintedSession | undefined {
  if (reply.status !== 200) return undefined
  const body = parseObject(reply.text)
  const data = body?.data as { auth_token?: unknown; create_time?: unknown } | null | undefined
  const value = data?.auth_token
  if (readInteger(body?.code) !== 0 || typeof value !== 'string' || value === '') return undefined
  const claimed = nowMs - (readInteger(data?.create_time) ?? nowMs)
  const age = claimed > 0 && claimed < 23 * hourMs ? claimed : 0
  return {
    value,
    renewAt: nowMs + Math.max(20 * hourMs - age, hourMs / 6),
    expiresAt: nowMs + 24 * hourMs - age,
  }
}
