import { accepted, type Outcome } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import type { HeldOutcome, Transport, TransportDeps } from '../../src/channel.ts'
import { holdRefusals, refusalHoldMs } from '../../src/shared/hold-refusals.ts'
import { sampleDeps } from '../samples.ts'

const midnight = 100_000_000
const spent: HeldOutcome = { kind: 'quota', reason: { code: 'vivo.10070', text: 'spent' }, until: midnight }
const refused: HeldOutcome = { kind: 'rejected', reason: { code: 'apns.BadTopic', text: 'bad topic' } }
const oneDevice: HeldOutcome = { kind: 'rejected', reason: { code: 'apns.muted', text: 'muted' } }

type Payload = { class: string }

/** A vendor whose quota of `marketing` is used up, and that refuses tokens of the topic `bad` and the muted device. */
function answer(payload: Payload, token: string): Outcome {
  if (payload.class === 'marketing') return spent
  if (token.startsWith('bad/')) return refused
  return token === 'good/muted' ? oneDevice : accepted
}

function bench() {
  let now = 0
  const calls: string[][] = []
  const stored: string[] = []
  const vendor: Transport<Payload> = {
    async send(payload, recipients, { report }) {
      calls.push(recipients.map(({ token }) => token))
      for (const [index, { token }] of recipients.entries()) report(index, answer(payload, token))
    },
    check: async () => ({ ok: true }),
    close: async () => {},
  }
  const deps = sampleDeps({ now: () => now })
  const topicOf = (token: string) => `topic ${token.split('/')[0]}`
  /** One process; `holds` is what processes share. */
  const open = (holds: TransportDeps['holds'] = deps.holds) => {
    const transport = holdRefusals(
      vendor,
      {
        quota: (payload) => `${payload.class} messages`,
        refused: (outcome, _payload, { token }) =>
          outcome.reason.code === refused.reason.code ? topicOf(token) : undefined,
        of: (_payload, { token }) => [topicOf(token)],
      },
      {
        now: () => now,
        holds: {
          isEmpty: holds.isEmpty,
          find: holds.find,
          add(scope, outcome, until) {
            stored.push(scope)
            holds.add(scope, outcome, until)
          },
        },
      },
    )
    return async (name: string, ...tokens: string[]) => {
      const outcomes: Outcome[] = []
      const reports: number[] = []
      const recipients = tokens.map((token, i) => ({ deviceId: i + 1, token }))
      await transport.send({ class: name }, recipients, {
        signal: new AbortController().signal,
        report(index, outcome) {
          outcomes[index] = outcome
          reports.push(index)
        },
      })
      expect(reports.sort((a, b) => a - b)).toEqual([...tokens.keys()])
      return outcomes
    }
  }
  return { open, calls, stored, at: (ms: number) => (now = ms) }
}

describe('a quota that is used up', () => {
  it('is not asked for again until it ends, in no process', async () => {
    const { open, calls, at } = bench()
    const [one, other] = [open(), open()]
    expect(await one('marketing', 'good/a', 'good/b')).toEqual([spent, spent])
    for (const ms of [1000, 60_000, refusalHoldMs + 1, midnight - 1]) {
      at(ms)
      expect(await one('marketing', 'good/a')).toEqual([spent])
      expect(await other('marketing', 'good/c')).toEqual([spent])
    }
    expect(calls).toHaveLength(1)
    at(midnight)
    await other('marketing', 'good/a')
    expect(calls).toHaveLength(2)
  })

  it('does not hold another class', async () => {
    const { open } = bench()
    const send = open()
    await send('marketing', 'good/a')
    expect(await send('service', 'good/a')).toEqual([accepted])
  })
})

describe('a refused topic', () => {
  it('is held for ten minutes; the other recipients of a call are sent to and reported in their places', async () => {
    const { open, calls, at } = bench()
    const send = open()
    expect(await send('service', 'bad/a', 'good/b', 'bad/c')).toEqual([refused, accepted, refused])
    expect(await send('service', 'bad/d', 'good/e', 'bad/f', 'good/muted')).toEqual([
      ...[refused, accepted, refused, oneDevice],
    ])
    expect(calls[1]).toEqual(['good/e', 'good/muted'])
    expect(await send('service', 'bad/a')).toEqual([refused])
    expect(calls).toHaveLength(2)
    at(refusalHoldMs)
    await send('service', 'bad/a')
    expect(calls[2]).toEqual(['bad/a'])
  })

  it('is stored once per call, and a refusal of one device is not stored', async () => {
    const { open, stored } = bench()
    await open()('service', 'bad/a', 'bad/b', 'bad/c', 'good/muted')
    expect(stored).toEqual(['topic bad'])
  })
})

describe('a call with a payload for each recipient', () => {
  it('holds the classes and topics that were refused, and reports the others in their places', async () => {
    const calls: string[][] = []
    const vendor: Transport<Payload> = {
      send: () => Promise.reject(new Error('not used')),
      async sendEach(payloads, recipients, { report }) {
        calls.push(recipients.map(({ token }, at) => `${payloads[at]!.class} ${token}`))
        for (const [at, { token }] of recipients.entries()) report(at, answer(payloads[at]!, token))
      },
      check: async () => ({ ok: true }),
      close: async () => {},
    }
    const deps = sampleDeps({ now: () => 0 })
    const transport = holdRefusals(
      vendor,
      {
        quota: (payload) => `${payload.class} messages`,
        refused: (outcome, _payload, { token }) =>
          outcome.reason.code === refused.reason.code ? `topic ${token.split('/')[0]}` : undefined,
        of: (_payload, { token }) => [`topic ${token.split('/')[0]}`],
      },
      { now: () => 0, holds: deps.holds },
    )
    const send = async (...sent: [string, string][]) => {
      const outcomes: Outcome[][] = sent.map(() => [])
      await transport.sendEach!(
        sent.map(([name]) => ({ class: name })),
        sent.map(([, token], deviceId) => ({ deviceId, token })),
        { signal: new AbortController().signal, report: (index, outcome) => outcomes[index]!.push(outcome) },
      )
      return outcomes.flat()
    }
    expect(await send(['service', 'good/a'], ['marketing', 'good/b'], ['service', 'bad/c'])).toEqual([
      accepted,
      spent,
      refused,
    ])
    expect(
      await send(['marketing', 'good/a'], ['service', 'bad/b'], ['service', 'good/c'], ['service', 'good/d']),
    ).toEqual([spent, refused, accepted, accepted])
    expect(calls[1]).toEqual(['service good/c', 'service good/d'])
    expect(await send(['marketing', 'good/a'])).toEqual([spent])
    expect(calls).toHaveLength(2)
  })

  it('is not offered for a vendor without one', () => {
    expect(
      holdRefusals({} as Transport<Payload>, { quota: () => '' }, sampleDeps({})).sendEach,
    ).toBeUndefined()
  })
})
