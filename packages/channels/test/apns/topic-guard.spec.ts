import { accepted, type Outcome } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import type { PushType } from '../../src/apns/card-push-types.ts'
import type { ApnsPayload } from '../../src/apns/payload.ts'
import { guardTopics } from '../../src/apns/topic-guard.ts'
import { reasonKindOf } from '../../src/reason-kinds.ts'
import { sampleDeps } from '../samples.ts'

const gone = (word: string): Outcome => ({
  kind: 'gone',
  reason: { code: `apns.${word}`, text: `400 ${word}` },
})
const dead = gone('BadDeviceToken')
const unregistered = gone('Unregistered')
const times = (count: number, outcome: Outcome) => Array<Outcome>(count).fill(outcome)

function bench() {
  let now = 1_760_000_000_000
  const deps = sampleDeps({ now: () => now })
  const guard = guardTopics('a', (_payload, { bundleId = 'a' }) => `topic ${bundleId}`, deps)
  /** One send to a topic, in which APNs replies so; `lost`: it throws before the last reply. */
  const send = (
    replies: readonly Outcome[],
    { topic = 'a', pushType = 'alert' as PushType, lost = false } = {},
  ) => {
    const payload = { pushType } as ApnsPayload
    const recipients = Array.from({ length: replies.length + (lost ? 1 : 0) }, (_, index) => ({
      deviceId: index,
      token: `${index}`,
      // A binding need not name the topic of the certificate.
      ...((topic !== 'a' || index % 2 === 0) && { bundleId: topic }),
    }))
    const reported: Outcome[] = []
    const context = guard(
      {
        signal: new AbortController().signal,
        report(at, outcome) {
          reported[at] = outcome
        },
      },
      () => payload,
      recipients,
    )
    for (const [at, reply] of replies.entries()) context.report(at, reply)
    return reported
  }
  const goneOf = (outcomes: readonly Outcome[]) => outcomes.filter(({ kind }) => kind === 'gone').length
  return {
    send,
    retired: (...args: Parameters<typeof send>) => goneOf(send(...args)),
    held: (topic = 'a') => deps.holds.find(`topic ${topic}`),
    pass(ms: number) {
      now += ms
    },
  }
}

describe('dead tokens of a topic', () => {
  it('are believed up to the number at which the certificate becomes suspect', () => {
    const { retired } = bench()
    expect(retired(times(19, dead))).toBe(19)
    expect(retired(times(11, gone('DeviceTokenNotForTopic')))).toBe(1)
    expect(retired(times(11, dead))).toBe(0)
  })

  it('hold it once they have been the only answers for ten minutes, whatever the first send of a process gets', () => {
    const { send, held, pass } = bench()
    send(times(25, dead))
    expect(held()).toBeUndefined()
    pass(599_999)
    send([dead])
    expect(held()).toBeUndefined()
    pass(1)
    send([gone('DeviceTokenNotForTopic')])
    expect(held()).toMatchObject({ kind: 'rejected', reason: { code: 'apns.DeviceTokenNotForTopic.topic' } })
    expect(held('b')).toBeUndefined()
  })

  it('hold it for ten minutes, and again as long as none is accepted', () => {
    const { send, retired, held, pass } = bench()
    send(times(20, dead))
    pass(600_000)
    send([dead])
    expect(held()).toBeDefined()
    pass(600_000)
    expect(held()).toBeUndefined()
    expect(retired([dead])).toBe(0)
    expect(held()).toBeDefined()
    pass(600_000)
    expect(send([accepted])).toEqual([accepted])
    expect(retired([dead])).toBe(1)
    expect(held()).toBeUndefined()
  })

  it('do not hold it if another of its pushes was accepted in the same send or within ten minutes', () => {
    const { send, retired, held, pass } = bench()
    send(times(30, dead))
    pass(600_000)
    send([...times(30, dead), accepted])
    expect(held()).toBeUndefined()
    // The doubt begins with the first of them, however long ago the last push was accepted.
    pass(600_000)
    expect(retired(times(30, dead))).toBe(20)
    expect(held()).toBeUndefined()
    pass(600_000)
    send([dead])
    expect(held()).toBeDefined()
  })

  it('do not count if they were registered once', () => {
    const { retired, held, pass } = bench()
    expect(retired(times(100, unregistered))).toBe(100)
    pass(600_000)
    expect(retired(times(100, unregistered))).toBe(100)
    expect(held()).toBeUndefined()
  })

  it('do not count those of other topics, nor of types with tokens of their own', () => {
    const { send, retired, held, pass } = bench()
    expect(retired(times(100, dead), { pushType: 'liveactivity' })).toBe(100)
    expect(retired(times(19, dead), { topic: 'b' })).toBe(19)
    expect(retired(times(19, dead), { pushType: 'background' })).toBe(19)
    expect([held(), held('b')]).toEqual([undefined, undefined])
    pass(600_000)
    send([accepted], { topic: 'b' })
    expect(retired(times(2, dead))).toBe(1)
    expect(held()).toBeDefined()
    expect(held('b')).toBeUndefined()
  })

  it('hold nothing before all replies of a send are there', () => {
    const { send, held, pass } = bench()
    send([dead])
    pass(600_000)
    send(times(30, dead), { lost: true })
    expect(held()).toBeUndefined()
  })

  it('have a reason that readers take for a wrong app, not for a dead token', () => {
    const { send } = bench()
    for (const word of ['BadDeviceToken', 'DeviceTokenNotForTopic']) {
      const last = send(times(21, gone(word))).at(-1)!
      expect(reasonKindOf((last as Extract<Outcome, { kind: 'rejected' }>).reason.code)).toBe('wrong_app')
    }
  })
})
