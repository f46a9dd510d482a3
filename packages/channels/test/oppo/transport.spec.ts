import { createServer, type Server } from 'node:http'
import { closeServer, listen } from '@herald/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { isUnsupported } from '../../src/channel.ts'
import { mapPayload } from '../../src/oppo/payload.ts'
import { readSettings } from '../../src/oppo/settings.ts'
import { openTransport } from '../../src/oppo/transport.ts'
import { outcomesOf } from '../outcomes-of.ts'
import { sampleCertificate, sampleDeps, sampleTask, sampleUrls } from '../samples.ts'

type Sent = { target_value: string; notification: { style: number; app_message_id: string } }

let server: Server
let url: string
let calls: { path: string; messages: Sent[] }[]
let answer: (messages: Sent[]) => unknown

/** Timestamps of the auth calls, of which the first ones are refused. */
let timestamps: number[]
let clockRefusals: number
const vendorDate = 'Thu, 09 Oct 2025 08:53:20 GMT'

beforeEach(async () => {
  calls = []
  timestamps = []
  clockRefusals = 0
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const form = new URLSearchParams(body)
    if (request.url === '/server/v1/auth') {
      timestamps.push(Number(form.get('timestamp')))
      if (clockRefusals-- > 0) return response.setHeader('date', vendorDate).end(JSON.stringify({ code: 19 }))
      return response.end(JSON.stringify({ code: 0, data: { auth_token: 'token', create_time: Date.now() } }))
    }
    expect(form.get('auth_token')).toBe('token')
    const messages = form.has('message')
      ? [JSON.parse(form.get('message')!)]
      : JSON.parse(form.get('messages')!)
    calls.push({ path: request.url!.split('/').at(-1)!, messages })
    return response.end(JSON.stringify(answer(messages)))
  })
  url = `http://127.0.0.1:${await listen(server)}`
})
afterEach(() => closeServer(server))

const open = (
  extra: Record<string, unknown> = {},
  urls = sampleUrls({ oppo: url }),
  deps = sampleDeps({ urls }),
  appKey = 'k',
) => {
  const settings = readSettings(sampleCertificate('oppo', { appKey, appSecret: 's', extra }))
  const message = { type: 'image' as const, attachmentUrl: 'https://img.example.com/a.png' }
  const payload = mapPayload(sampleTask(message, { taskId: 42 }), settings)
  if (isUnsupported(payload)) throw new Error(payload.unsupported)
  const transport = openTransport(settings, deps)
  return async (tokens: string[]): Promise<string[]> => {
    const outcomes = await outcomesOf(transport, payload, tokens)
    await transport.close()
    return outcomes.map((outcome) => outcome.kind)
  }
}

describe('oppo transport', () => {
  it('calls unicast for one and unicast_batch for several, each device with its own message id', async () => {
    answer = () => ({ code: 0 })
    await open()(['A'])
    await open()(['A', 'B'])
    expect(calls.map(({ path }) => path)).toEqual(['unicast', 'unicast_batch'])
    expect(calls[1]!.messages.map((one) => [one.target_value, one.notification.app_message_id])).toEqual([
      ['A', '42-1'],
      ['B', '42-2'],
    ])
  })

  it('splits a batch that is refused because of one bad id', async () => {
    answer = (messages) =>
      messages.some((one) => one.target_value === 'C')
        ? { code: 41, message: 'invalid registration_id' }
        : { code: 0 }
    expect(await open()(['A', 'B', 'C', 'D'])).toEqual(['accepted', 'accepted', 'gone', 'accepted'])
  })

  it('sends only the text when the picture is refused, for all or for some', async () => {
    answer = (messages) =>
      messages.some((one) => one.notification.style === 3)
        ? { code: 51, message: 'bad picture' }
        : { code: 0 }
    expect(await open({ picture_url: true })(['A', 'B'])).toEqual(['accepted', 'accepted'])
    expect(calls.map(({ messages }) => messages[0]!.notification.style)).toEqual([3, 1])

    calls = []
    answer = (messages) => ({
      code: 0,
      data: messages.map((one) =>
        one.target_value === 'B' && one.notification.style === 3
          ? { registrationId: 'B', errorCode: 34 }
          : { registrationId: one.target_value },
      ),
    })
    expect(await open({ picture_url: true })(['A', 'B'])).toEqual(['accepted', 'accepted'])
    expect(calls.map(({ messages }) => messages.map((one) => one.target_value))).toEqual([['A', 'B'], ['B']])
  })

  it('reports a picture error for a text instead of retrying forever', async () => {
    answer = () => ({ code: 51 })
    expect(await open({ picture_url: true })(['A'])).toEqual(['rejected'])
    expect(calls).toHaveLength(2)
  })

  it.each(['cn', 'intl'])('calls the overseas host for overseas ids, with a record of %s', async (region) => {
    answer = () => ({ code: 0 })
    const overseas = 'realme_IN_A'
    expect(await open({ region }, sampleUrls({ oppoIntl: url }))([overseas])).toEqual(['accepted'])
    expect(await open({ region }, sampleUrls({ oppoIntl: url }))(['A'])).toEqual(['unavailable'])
    // An installation without a host of the region calls the usual one.
    const deps = sampleDeps({ urls: sampleUrls({ oppo: url }) })
    expect(await open({ region }, deps.urls, deps)([overseas, 'A'])).toEqual(['accepted', 'accepted'])
    expect(deps.mints()).toBe(1)
  })

  it('never sends with the token of the record’s previous application', async () => {
    answer = () => ({ code: 0 })
    const urls = sampleUrls({ oppo: url })
    const deps = sampleDeps({ urls })
    for (const appKey of ['former', 'present', 'present']) await open({}, urls, deps, appKey)(['A'])
    expect(deps.mints()).toBe(2)
  })

  it('reports unavailable when a new token is refused too', async () => {
    answer = () => ({ code: 11, message: 'Invalid AuthToken' })
    expect(await open()(['A', 'B'])).toEqual(['unavailable', 'unavailable'])
    expect(calls).toHaveLength(2)
  })

  it('signs with the vendor’s clock when it refuses ours, once', async () => {
    answer = () => ({ code: 0 })
    clockRefusals = 1
    expect(await open()(['A'])).toEqual(['accepted'])
    expect(timestamps).toHaveLength(2)
    expect(timestamps[1]).toBe(Date.parse(vendorDate))

    timestamps = []
    clockRefusals = 2
    expect(await open()(['A'])).toEqual(['unavailable'])
    expect(timestamps).toHaveLength(2)
  })
})
