import { createServer, type Server } from 'node:http'
import type { Outcome } from '@herald/domain'
import { closeServer, listen } from '@herald/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { adapter as xiaomi } from '../../src/xiaomi/channel.ts'
import type { XiaomiPayload } from '../../src/xiaomi/payload.ts'
import { readSettings } from '../../src/xiaomi/settings.ts'
import { openTransport } from '../../src/xiaomi/transport.ts'
import { outcomesOf } from '../outcomes-of.ts'
import { sampleCertificate, sampleDeps, sampleUrls } from '../samples.ts'

const settings = readSettings(
  sampleCertificate('xiaomi', { appSecret: 'sim-secret', extra: { package_name: 'com.example.app' } }),
)
const payload: XiaomiPayload = { fields: { title: 'a+b&c=ü' }, channelFrom: 'certificate' }

let server: Server
let url: string
let bodies: string[]
let headers: Record<string, unknown>[]
let answer: (targets: string[], fields: URLSearchParams) => unknown
let status: number

beforeEach(async () => {
  bodies = []
  headers = []
  status = 200
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(body)
    headers.push(request.headers)
    const fields = new URLSearchParams(body)
    const replied = await answer((fields.get('registration_id') ?? '').split(','), fields)
    response.writeHead(status).end(typeof replied === 'string' ? replied : JSON.stringify(replied))
  })
  url = `http://127.0.0.1:${await listen(server)}/`
})
afterEach(() => closeServer(server))

const depsHere = () => sampleDeps({ urls: sampleUrls({ xiaomi: url }) })

async function send(
  tokens: string[],
  { deps = depsHere(), sent = payload, open = openTransport } = {},
): Promise<Outcome[]> {
  const transport = open(settings, deps)
  const outcomes = await outcomesOf(transport, sent, tokens)
  await transport.close()
  return outcomes
}
const kinds = (outcomes: Outcome[]) => outcomes.map((outcome) => outcome.kind)
const noTargets = { code: 20301, reason: 'No valid targets!' }

describe('xiaomi transport', () => {
  it('form-encodes once, plus signs of regids included', async () => {
    answer = () => ({ code: 0 })
    await send(['a+b/c=', 'd'])
    expect(bodies).toEqual(['title=a%2Bb%26c%3D%C3%BC&registration_id=a%2Bb%2Fc%3D%2Cd'])
    expect(headers[0]).toMatchObject({
      authorization: 'key=sim-secret',
      'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
    })
  })

  it('retries in halves once when many are reported invalid, and accepts the second reply', async () => {
    answer = (targets) => (targets.length > 2 || targets.includes('D') ? noTargets : { code: 0 })
    expect(kinds(await send(['A', 'B', 'C', 'D']))).toEqual(['accepted', 'accepted', 'gone', 'gone'])
    expect(bodies).toHaveLength(3)
  })

  it('finds the one device that is unknown: the others get the message', async () => {
    answer = (targets) => ({ code: targets.includes('T700') ? 10029 : 0 })
    const many = Array.from({ length: 1000 }, (_, i) => `T${i}`)
    const outcomes = kinds(await send(many))
    expect(many.filter((_, i) => outcomes[i] !== 'accepted')).toEqual(['T700'])
    expect(outcomes[700]).toBe('gone')
    const reached = bodies.flatMap((body) => {
      const targets = new URLSearchParams(body).get('registration_id')!.split(',')
      return targets.includes('T700') ? [] : targets
    })
    expect(reached.sort()).toEqual(many.filter((token) => token !== 'T700').sort())
  })

  describe('in its search for an unknown device', () => {
    const eight = Array.from({ length: 8 }, (_, i) => `T${i}`)
    /** Each half of the eight gets its reply when both have arrived. */
    const answerHalvesTogether = (replyTo: typeof answer) => {
      const both = Promise.withResolvers<void>()
      let arrived = 0
      answer = async (targets, fields) => {
        if (targets.length === 4 && ++arrived === 2) both.resolve()
        if (targets.length === 4) await both.promise
        return replyTo(targets, fields)
      }
    }

    it('sends both halves at the same time', async () => {
      answerHalvesTogether((targets) => ({
        code: targets.includes('T1') || targets.includes('T6') ? 10029 : 0,
      }))
      const outcomes = kinds(await send(eight))
      expect(eight.filter((_, i) => outcomes[i] !== 'accepted')).toEqual(['T1', 'T6'])
      expect([outcomes[1], outcomes[6]]).toEqual(['gone', 'gone'])
      // All regids, both halves, four quarters, and the regids of two quarters.
      expect(bodies).toHaveLength(1 + 2 + 4 + 4)
    })

    it('sends both halves again without receipts if both are refused for their address', async () => {
      answerHalvesTogether((targets, fields) => ({
        code: targets.length === 8 ? 10029 : fields.has('extra.callback') ? 10025 : 0,
      }))
      const sent: XiaomiPayload = {
        ...payload,
        fields: { title: 't', 'extra.callback': 'https://a.example/cb', 'extra.callback.type': '243' },
      }
      expect(kinds(await send(eight, { sent }))).toEqual(Array(8).fill('accepted'))
      expect(bodies.map((body) => body.includes('extra.callback'))).toEqual([true, true, true, false, false])
    })
  })

  it('accepts “no valid target” for one token immediately', async () => {
    answer = () => noTargets
    expect(kinds(await send(['A']))).toEqual(['gone'])
    expect(bodies).toHaveLength(1)
  })

  it('lists a token once although two devices share it, and reports both', async () => {
    answer = () => ({ code: 0, data: { bad_regids: 'B' } })
    expect(kinds(await send(['A', 'B', 'A', 'B']))).toEqual(['accepted', 'gone', 'accepted', 'gone'])
    expect(bodies[0]).toContain('registration_id=A%2CB')
  })

  it('never sends one device’s malformed token as two targets', async () => {
    answer = () => ({ code: 0 })
    expect(kinds(await send(['A', 'B,C', ' ']))).toEqual(['accepted', 'rejected', 'rejected'])
    expect(new URLSearchParams(bodies[0]).get('registration_id')).toBe('A')
    expect(kinds(await send(['B,C']))).toEqual(['rejected'])
    expect(bodies).toHaveLength(1)
  })

  it('halves a call that is too large, and rejects the message without more calls if one token is too many', async () => {
    answer = (targets) => {
      status = targets.length > 2 ? 413 : 200
      return { code: 0 }
    }
    expect(kinds(await send(['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H']))).toEqual(Array(8).fill('accepted'))
    expect(bodies).toHaveLength(7)

    bodies = []
    answer = () => {
      status = 413
      return '<html>'
    }
    const many = Array.from({ length: 1000 }, (_, i) => `T${i}`)
    const outcomes = await send(many)
    expect(new Set(kinds(outcomes))).toEqual(new Set(['rejected']))
    expect(outcomes[999]).toMatchObject({ reason: { code: 'xiaomi.http_413' } })
    expect(bodies).toHaveLength(11)
  })

  it('stops the halves at a reply that concerns every request', async () => {
    answer = (targets) => (targets.length > 2 ? noTargets : { code: 200002 })
    expect(kinds(await send(['A', 'B', 'C', 'D']))).toEqual(Array(4).fill('throttled'))
    expect(bodies).toHaveLength(2)
  })

  it('sends the other half when one gets an unknown code', async () => {
    answer = (targets) =>
      targets.length > 2 ? noTargets : targets.includes('A') ? { code: 99_999 } : { code: 0 }
    expect(kinds(await send(['A', 'B', 'C', 'D']))).toEqual([
      'unavailable',
      'unavailable',
      'accepted',
      'accepted',
    ])
  })

  it.each([10025, 65037, 65038])('sends without receipts when %i refuses their address', async (code) => {
    answer = (_, fields) => (fields.has('extra.callback') ? { code } : { code: 0 })
    const deps = depsHere()
    const sent: XiaomiPayload = {
      ...payload,
      fields: { title: 't', 'extra.callback': 'https://a.example/cb', 'extra.callback.type': '243' },
    }
    expect(kinds(await send(['A', 'B'], { deps, sent }))).toEqual(['accepted', 'accepted'])
    expect(deps.holds.find('without receipts')).toMatchObject({ reason: { code: `xiaomi.${code}` } })
    expect(kinds(await send(['A', 'B'], { deps, sent }))).toEqual(['accepted', 'accepted'])
    expect(bodies.map((body) => body.includes('extra.callback'))).toEqual([true, false, false])
  })
})

describe('xiaomi holds', () => {
  const of = (channelId: string, over: Partial<XiaomiPayload> = {}): XiaomiPayload => ({
    ...payload,
    fields: { title: 't', 'extra.channel_id': channelId },
    ...over,
  })

  it('holds a refused channel of the certificate, while other channels go on', async () => {
    answer = (_, fields) => ({ code: fields.get('extra.channel_id') === '1' ? 27001 : 0 })
    const deps = depsHere()
    const held = { deps, open: xiaomi.open }
    expect(kinds(await send(['A', 'B'], { ...held, sent: of('1') }))).toEqual(['rejected', 'rejected'])
    expect(deps.holds.find('channel 1')).toMatchObject({ kind: 'rejected', reason: { code: 'xiaomi.27001' } })
    expect(kinds(await send(['A'], { ...held, sent: of('1') }))).toEqual(['rejected'])
    expect(bodies).toHaveLength(1)
    expect(kinds(await send(['A'], { ...held, sent: of('2') }))).toEqual(['accepted'])
  })

  it('asks again for a channel or template that a message names', async () => {
    answer = () => ({ code: 27001 })
    const deps = depsHere()
    const held = { deps, open: xiaomi.open, sent: of('1', { channelFrom: 'message' }) }
    for (let i = 0; i < 2; i++) expect(kinds(await send(['A'], held))).toEqual(['rejected'])
    expect(bodies).toHaveLength(2)
    expect(deps.holds.find('channel 1')).toBeUndefined()
  })

  it('holds the quota of a channel until midnight, and pass-through messages that Xiaomi forbids', async () => {
    answer = () => ({ code: 200001 })
    const deps = depsHere()
    const held = { deps, open: xiaomi.open }
    for (let i = 0; i < 2; i++)
      expect(kinds(await send(['A'], { ...held, sent: of('1') }))).toEqual(['quota'])
    expect(bodies).toHaveLength(1)

    answer = (_, fields) => ({ code: fields.get('pass_through') === '1' ? 10036 : 0 })
    const command = of('2', { fields: { pass_through: '1' } })
    for (let i = 0; i < 2; i++)
      expect(kinds(await send(['A'], { ...held, sent: command }))).toEqual(['rejected'])
    expect(bodies).toHaveLength(2)
    expect(kinds(await send(['A'], { ...held, sent: of('2') }))).toEqual(['accepted'])
  })
})

describe('xiaomi withdrawal', () => {
  const sent: XiaomiPayload = {
    withdraws: true,
    channelFrom: 'message',
    fields: { restricted_package_name: 'com.example.app', notify_id: '7' },
  }

  it('calls once per regid', async () => {
    answer = () => ({ code: 0 })
    expect(kinds(await send(['A', 'B', 'A'], { sent }))).toEqual(['accepted', 'accepted', 'accepted'])
    expect(bodies.map((body) => Object.fromEntries(new URLSearchParams(body))).sort(byRegid)).toEqual(
      ['A', 'B'].map((registration_ids) => ({ ...sent.fields, registration_ids })),
    )
  })

  it('retires no token, closes nothing and holds no channel, whatever Xiaomi says', async () => {
    const deps = depsHere()
    for (const code of [10029, 21301, 22022]) {
      answer = () => ({ code })
      expect(kinds(await send(['A'], { sent, deps, open: xiaomi.open }))).toEqual(['rejected'])
    }
    answer = () => ({ code: 200001 })
    expect(kinds(await send(['A'], { sent, deps, open: xiaomi.open }))).toEqual(['quota'])
    answer = () => ({ code: 0 })
    expect(kinds(await send(['A'], { sent: payload, deps, open: xiaomi.open }))).toEqual(['accepted'])
  })

  it('goes on after devices that are offline', async () => {
    answer = (_, fields) => (/^OFF/.test(fields.get('registration_ids')!) ? { code: 65003 } : { code: 0 })
    const tokens = Array.from({ length: 40 }, (_, i) => `${i < 20 ? 'OFF' : 'R'}${i}`)
    expect(kinds(await send(tokens, { sent }))).toEqual([
      ...Array(20).fill('unavailable'),
      ...Array(20).fill('accepted'),
    ])
  })

  it('asks no more after an outcome that concerns every call', async () => {
    answer = () => ({ code: 200002 })
    const tokens = Array.from({ length: 100 }, (_, i) => `R${i}`)
    expect(new Set(kinds(await send(tokens, { sent })))).toEqual(new Set(['throttled']))
    expect(bodies.length).toBeLessThanOrEqual(16)
  })

  const byRegid = (a: Record<string, string>, b: Record<string, string>) =>
    a.registration_ids!.localeCompare(b.registration_ids!)
})

describe('xiaomi check', () => {
  const check = async () => {
    const transport = openTransport(settings, depsHere())
    const result = await transport.check(new AbortController().signal)
    await transport.close()
    return result
  }
  /** The first call reads the quota and has no targets. */
  const answerSecond = (reply: unknown) => {
    answer = (_, fields) => (fields.has('registration_id') ? reply : { code: 0 })
  }

  it('finds a package name that the secret does not belong to, without a valid target', async () => {
    answerSecond({ code: 22022 })
    expect(await check()).toMatchObject({ ok: false, temporary: false })
    expect(new URLSearchParams(bodies[1]).get('registration_id')).toBe('no-such-regid')
    expect(new URLSearchParams(bodies[1]).get('restricted_package_name')).toBe('com.example.app')
  })

  it('finds a refused secret also when the quota cannot be read', async () => {
    answer = (_, fields) => {
      status = fields.has('registration_id') ? 200 : 404
      return fields.has('registration_id') ? { code: 21301 } : ''
    }
    expect(await check()).toMatchObject({ ok: false, temporary: false })
  })

  it.each([noTargets, { code: 20301, reason: 'other words' }, { code: 27001 }, { code: 99999 }, { code: 0 }])(
    'accepts credentials after the reply %j',
    async (reply) => {
      answerSecond(reply)
      expect(await check()).toEqual({ ok: true })
    },
  )

  it.each([
    [200, '<html>'],
    [403, '<html>'],
    [503, ''],
  ])('knows nothing after HTTP %i with %j', async (code, reply) => {
    answer = (_, fields) => {
      if (!fields.has('registration_id')) return { code: 0 }
      status = code
      return reply
    }
    expect(await check()).toMatchObject({ ok: false, temporary: true })
  })
})
