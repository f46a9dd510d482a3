import { describe, expect, it } from '@jest/globals'
import type { MintedSession } from '../../src/channel.ts'
import {
  cacheSession,
  callWithAccessToken,
  readAccessToken,
  sessionKey,
} from '../../src/shared/access-token.ts'
import { sampleDeps } from '../samples.ts'

const never = new AbortController().signal
const ok = (text: string, status = 200) => ({ status, headers: {}, text })

function mints() {
  let count = 0
  const mint = async (): Promise<MintedSession> => {
    const at = Date.now() + 3_600_000
    return { value: `token${++count}`, renewAt: at, expiresAt: at }
  }
  return { mint, count: () => count }
}

describe('callWithAccessToken', () => {
  it('gets a new access token once and not twice', async () => {
    const { mint, count } = mints()
    const seen: string[] = []
    const refused = async (token: string) => {
      seen.push(token)
      return { result: 'still refused', tokenRefused: true }
    }
    expect(await callWithAccessToken(sampleDeps().session, 'k', mint, never, refused)).toBe('still refused')
    expect(seen).toEqual(['token1', 'token2'])
    expect(count()).toBe(2)
  })

  it('uses the access token that another caller has renewed', async () => {
    const { mint, count } = mints()
    const { session } = sampleDeps()
    const once = async (token: string) => ({ result: token, tokenRefused: token === 'token1' })
    const all = await Promise.all([1, 2, 3].map(() => callWithAccessToken(session, 'k', mint, never, once)))
    expect(all).toEqual(['token2', 'token2', 'token2'])
    expect(count()).toBe(2)
  })

  it('does not wait for an access token after the abort', async () => {
    const stop = new AbortController()
    const hangs = () => new Promise<string>(() => {})
    const waiting = callWithAccessToken(hangs, 'k', mints().mint, stop.signal, async () => ({
      result: 1,
      tokenRefused: false,
    }))
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ kind: 'aborted' })
    const after = callWithAccessToken(hangs, 'k', mints().mint, stop.signal, async () => ({
      result: 1,
      tokenRefused: false,
    }))
    await expect(after).rejects.toMatchObject({ kind: 'aborted' })
  })
})

describe('an access token', () => {
  it('is stored under a key that depends on its credential', () => {
    const key = sessionKey('oauth', 'client', 'secret')
    expect(key).toBe(sessionKey('oauth', 'client', 'secret'))
    const others = [sessionKey('jwt', 'client', 'secret'), sessionKey('oauth', 'client', 'other')]
    expect([...others, sessionKey('oauth', 'clients', 'ecret')]).not.toContain(key)
    expect(key).not.toContain('secret')
  })

  it('is cached for 30 seconds, unless the vendor refused it', async () => {
    let now = 0
    const { mint } = mints()
    const calls: (string | undefined)[] = []
    const session = cacheSession({
      now: () => now,
      async session(_key, mint, stale) {
        calls.push(stale)
        return (await mint()).value
      },
    })
    expect([await session('k', mint), await session('k', mint)]).toEqual(['token1', 'token1'])
    expect(await session('k', mint, 'token1')).toBe('token2')
    now = 30_000
    expect(await session('k', mint)).toBe('token3')
    expect(calls).toEqual([undefined, 'token1', undefined])
  })
})

describe('readAccessToken', () => {
  const now = 1_000_000_000

  it.each([
    ['five minutes before it expires', { expires_in: 3600 }, 3_300_000, 3_600_000],
    ['at half of a short life', { expires_in: 120 }, 60_000, 120_000],
    ['as if for an hour without expires_in', {}, 3_300_000, 3_600_000],
    ['by an expires_in that is a string', { expires_in: '7200' }, 6_900_000, 7_200_000],
  ])('renews %s', (_name, body, renew, life) => {
    const reply = ok(JSON.stringify({ access_token: 'a\\/b', ...body }))
    expect(readAccessToken(reply, now)).toEqual({
      value: 'a\\/b',
      renewAt: now + renew,
      expiresAt: now + life,
    })
  })

  it('finds none in refusals and in replies without one', () => {
    for (const reply of [ok('{"access_token":"a"}', 400), ok('{}'), ok('{"access_token":""}'), ok('<html>')])
      expect(readAccessToken(reply, now)).toBeUndefined()
  })
})
