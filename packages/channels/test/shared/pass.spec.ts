import { describe, expect, it } from '@jest/globals'
import type { MintedSession } from '../../src/channel.ts'
import {
  callWithPass,
  type PassVerdict,
  passKey,
  readAccessToken,
  rememberPass,
} from '../../src/shared/pass.ts'
import { sampleDeps } from '../samples.ts'

const never = new AbortController().signal
const ok = (text: string, status = 200) => ({ status, headers: {}, text })

function mints() {
  let count = 0
  const mint = async (): Promise<MintedSession> => {
    const at = Date.now() + 3_600_000
    return { value: `pass${++count}`, renewAt: at, expiresAt: at }
  }
  return { mint, count: () => count }
}

describe('callWithPass', () => {
  it('asks for a new pass once and not twice', async () => {
    const { mint, count } = mints()
    const seen: string[] = []
    const refused = async (pass: string): Promise<PassVerdict<string>> => {
      seen.push(pass)
      return { refresh: 'still refused' }
    }
    expect(await callWithPass(sampleDeps().session, 'k', mint, never, refused)).toBe('still refused')
    expect(seen).toEqual(['pass1', 'pass2'])
    expect(count()).toBe(2)
  })

  it('takes the pass that another caller renewed meanwhile', async () => {
    const { mint, count } = mints()
    const { session } = sampleDeps()
    const once = async (pass: string): Promise<PassVerdict<string>> =>
      pass === 'pass1' ? { refresh: 'refused' } : { done: pass }
    const all = await Promise.all([1, 2, 3].map(() => callWithPass(session, 'k', mint, never, once)))
    expect(all).toEqual(['pass2', 'pass2', 'pass2'])
    expect(count()).toBe(2)
  })

  it('does not wait for a pass after the abort', async () => {
    const stop = new AbortController()
    const hangs = () => new Promise<string>(() => {})
    const waiting = callWithPass(hangs, 'k', mints().mint, stop.signal, async () => ({ done: 1 }))
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ kind: 'aborted' })
    const after = callWithPass(hangs, 'k', mints().mint, stop.signal, async () => ({ done: 1 }))
    await expect(after).rejects.toMatchObject({ kind: 'aborted' })
  })
})

describe('a pass', () => {
  it('is named after its credential', () => {
    const key = passKey('oauth', 'client', 'secret')
    expect(key).toBe(passKey('oauth', 'client', 'secret'))
    const others = [passKey('jwt', 'client', 'secret'), passKey('oauth', 'client', 'other')]
    expect([...others, passKey('oauth', 'clients', 'ecret')]).not.toContain(key)
    expect(key).not.toContain('secret')
  })

  it('is remembered for half a minute, unless the vendor refused it', async () => {
    let now = 0
    const { mint } = mints()
    const asked: (string | undefined)[] = []
    const session = rememberPass({
      now: () => now,
      async session(_key, mint, stale) {
        asked.push(stale)
        return (await mint()).value
      },
    })
    expect([await session('k', mint), await session('k', mint)]).toEqual(['pass1', 'pass1'])
    expect(await session('k', mint, 'pass1')).toBe('pass2')
    now = 30_000
    expect(await session('k', mint)).toBe('pass3')
    expect(asked).toEqual([undefined, 'pass1', undefined])
  })
})

describe('readAccessToken', () => {
  const now = 1_000_000_000

  it.each([
    ['five minutes before its end', { expires_in: 3600 }, 3_300_000, 3_600_000],
    ['at half of a short life', { expires_in: 120 }, 60_000, 120_000],
    ['as if for an hour when no life is named', {}, 3_300_000, 3_600_000],
    ['by a life written as text', { expires_in: '7200' }, 6_900_000, 7_200_000],
  ])('renews %s', (_name, body, renew, life) => {
    const reply = ok(JSON.stringify({ access_token: 'a\\/b', ...body }))
    expect(readAccessToken(reply, now)).toEqual({
      value: 'a\\/b',
      renewAt: now + renew,
      expiresAt: now + life,
    })
  })

  it('finds none in refusals and in answers without one', () => {
    for (const reply of [ok('{"access_token":"a"}', 400), ok('{}'), ok('{"access_token":""}'), ok('<html>')])
      expect(readAccessToken(reply, now)).toBeUndefined()
  })
})
