import { createHash } from 'node:crypto'
import type { MintedSession } from '../channel.ts'
import { type HttpReply, parseObject } from '../shared/http.ts'
import { readInteger } from './classify.ts'
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
 * The token of a good answer; undefined when it holds none. It lives for 24 hours from create_time, which lies in the past when
 * OPPO hands out one that it made before; a create_time that cannot be true is not believed.
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
