import type { Outcome } from '@herald/domain'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import type { Transport } from '../../src/channel.ts'
import { rememberQuota } from '../../src/shared/remember-quota.ts'

const midnight = 100_000_000
const spent: Outcome = { kind: 'quota', reason: { code: 'vivo.10070', text: 'spent' }, until: midnight }

afterEach(() => {
  jest.restoreAllMocks()
})

function bench() {
  let now = 0
  const started = performance.now()
  jest.spyOn(performance, 'now').mockImplementation(() => started + now)
  const calls: string[] = []
  const transport: Transport<string> = {
    async send(payload, recipients, { report }) {
      calls.push(payload)
      const outcome: Outcome = payload === 'service' ? { kind: 'accepted' } : spent
      for (const index of recipients.keys()) report(index, outcome)
    },
    check: async () => ({ ok: true }),
    close: async () => {},
  }
  const remembering = rememberQuota(
    transport,
    (payload) => payload,
    () => now,
  )
  const send = async (payload: string) => {
    const outcomes: Outcome[] = []
    const recipients = [1, 2].map((deviceId) => ({ deviceId, token: `t${deviceId}` }))
    const report = (index: number, outcome: Outcome) => {
      outcomes[index] = outcome
    }
    await remembering.send(payload, recipients, { signal: new AbortController().signal, report })
    return outcomes
  }
  return { send, calls, at: (ms: number) => (now = ms) }
}

describe('a quota that is used up', () => {
  it('is tried once per minute; other sends get its outcome without a call', async () => {
    const { send, calls, at } = bench()
    expect(await send('marketing')).toEqual([spent, spent])
    expect(await send('marketing')).toEqual([spent, spent])
    expect(calls).toEqual(['marketing'])
    at(60_000)
    await send('marketing')
    expect(calls).toHaveLength(2)
  })

  it('does not affect another class', async () => {
    const { send, calls } = bench()
    await send('marketing')
    expect(await send('service')).toEqual([{ kind: 'accepted' }, { kind: 'accepted' }])
    expect(calls).toEqual(['marketing', 'service'])
  })

  it('is tried again when the vendor resets it', async () => {
    const { send, calls, at } = bench()
    at(midnight - 1000)
    await send('marketing')
    at(midnight)
    await send('marketing')
    expect(calls).toHaveLength(2)
  })
})
