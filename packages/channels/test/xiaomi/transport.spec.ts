import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Outcome } from '@herald/domain'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { readSettings } from '../../src/xiaomi/settings.ts'
import { openTransport } from '../../src/xiaomi/transport.ts'
import { sampleCertificate, sampleDeps, sampleUrls } from '../samples.ts'

const settings = readSettings(
  sampleCertificate('xiaomi', { appSecret: 'sim-secret', extra: { package_name: 'com.example.app' } }),
)
const payload = { fields: { title: 'a+b&c=ü' }, channelFrom: 'certificate' as const }

let server: Server
let bodies: string[]
let headers: Record<string, unknown>[]
let answer: (targets: string[]) => unknown

beforeEach(async () => {
  bodies = []
  headers = []
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(body)
    headers.push(request.headers)
    response.end(JSON.stringify(answer(new URLSearchParams(body).get('registration_id')!.split(','))))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

async function send(tokens: string[]): Promise<Outcome[]> {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const transport = openTransport(settings, sampleDeps({ urls: sampleUrls({ xiaomi: url }) }))
  const outcomes: Outcome[] = []
  await transport.send(
    payload,
    tokens.map((token, i) => ({ deviceId: i, token })),
    {
      signal: new AbortController().signal,
      report(index, outcome) {
        expect(outcomes[index]).toBeUndefined()
        outcomes[index] = outcome
      },
    },
  )
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
})
