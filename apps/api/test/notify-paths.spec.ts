import { createDice, nastyJson } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { notify } from '../src/handlers/notify.ts'
import { openApiDocument } from '../src/openapi/document.ts'
import type { JsonSchema } from '../src/openapi/schemas.ts'
import { type CallOptions, notifyBothWays, openTestApi, type TestApi } from './harness.ts'
import { createWriter } from './hostile-values.ts'

let api: TestApi
let notes = 0
beforeAll(async () => {
  api = await openTestApi({
    overrides: {
      activity: { isAlone: true, note: () => notes++, quietMs: () => 0, onNote: () => () => {} },
      acceptor: { accept: async () => ({ taskId: 4711, fresh: true }), close: async () => {} },
    },
  })
})
afterAll(() => api.close())

const body = '{"audience":"all","message":{"title":"x"}}'

/** Everything that comes back over a connection of its own, except what depends on the time. */
async function bytesOf(target: string, head: string, content: string): Promise<string> {
  const text = await api.socket(
    `POST ${target} HTTP/1.1\r\nhost: x\r\nx-request-id: same\r\n${head}connection: close\r\n\r\n${content}`,
  )
  // Herald says that it closes the connection if it refuses a call before its body has arrived; otherwise Node says so.
  return text.replace(/^date: .*\r\n/im, '').replace(/^connection: close\r\n/im, '')
}

describe('notify, served directly and by Express, gives the same bytes', () => {
  const login = () => `app_id: ${api.appId}\r\naccess-token: ${api.adminToken}\r\n`
  const sized = (text: string) => `content-length: ${Buffer.byteLength(text)}\r\n`
  const cases: [name: string, head: () => string, content: string][] = [
    ['with good credentials', () => login() + sized(body), body],
    ['with the twins of the headers', () => login().replace('app_id', 'x-app-id') + sized(body), body],
    [
      'with a bearer token',
      () => login().replace('access-token: ', 'authorization: Bearer ') + sized(body),
      body,
    ],
    ['without app_id', () => login().replace(/^app_id.*\r\n/, '') + sized(body), body],
    ['with an unknown app_id', () => login().replace(/^app_id.*\r\n/, 'app_id: no\r\n') + sized(body), body],
    ['without a token', () => login().replace(/access-token.*\r\n/, '') + sized(body), body],
    [
      'with a bad token',
      () => login().replace(/access-token.*\r\n/, 'access-token: a.b.c\r\n') + sized(body),
      body,
    ],
    ['with two app_ids', () => `${login()}app_id: other\r\n${sized(body)}`, body],
    ['with the same app_id twice', () => `${login()}app_id: ${api.appId}\r\n${sized(body)}`, body],
    ['with two tokens', () => `${login()}authorization: Bearer x\r\n${sized(body)}`, body],
    [
      'with two authorizations',
      () => `${login()}authorization: Basic a\r\nauthorization: Basic b\r\n${sized(body)}`,
      body,
    ],
    ['for an unknown group', () => `${login()}group_id: 77\r\n${sized(body)}`, body],
    ['for a user', () => `${login()}user_id: 77\r\n${sized(body)}`, body],
    ['as text', () => `${login()}content-type: text/plain\r\n${sized(body)}`, body],
    ['compressed', () => `${login()}content-encoding: gzip\r\n${sized(body)}`, body],
    ['as Latin-1', () => `${login()}content-type: application/json; charset=latin1\r\n${sized(body)}`, body],
    [
      'in chunks',
      () => `${login()}transfer-encoding: chunked\r\n`,
      `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    ],
    ['without a body', () => login() + sized(''), ''],
    ['with a body that is announced too large', () => `${login()}content-length: 99999999\r\n`, 'x'],
    [
      'with a broken request id',
      () => `${login().replace('app_id', 'x-app-id')}x-request-id: b\r\n${sized(body)}`,
      body,
    ],
  ]
  it.each(cases)('%s', async (_name, head, content) => {
    const direct = await bytesOf('/push/notify', head(), content)
    expect(direct).toMatch(/^HTTP\/1\.1 \d{3} /)
    const express = await bytesOf('/push/notify?', head(), content)
    const withoutNewId = (text: string) => text.replace(/^x-request-id: [0-9a-f-]{36}$/m, 'x-request-id: new')
    expect(withoutNewId(direct)).toBe(withoutNewId(express))
  })

  it('also for bodies at random', async () => {
    const operation = openApiDocument().paths[notify.path]!.post!
    const { schema } = (operation.requestBody as { content: Record<string, { schema: JsonSchema }> }).content[
      'application/json'
    ]!
    const { value } = createWriter(createDice(7), { push_token: ['a'], request_id: ['r'] })
    const codes = new Set<number>()
    const bodies = [...nastyJson, ...Array.from({ length: 300 }, () => value(schema))]
    for (const raw of bodies) {
      // A body that is not valid UTF-16 cannot be sent as it is.
      const answer = await notifyBothWays(api, {
        raw: raw.toWellFormed(),
        headers: { 'content-type': 'application/json' },
      })
      codes.add(answer.code)
    }
    expect([...codes]).toEqual(expect.arrayContaining([200, 40001, 40002, 40003]))
  })

  it('and no other method or spelling of the path is served directly', async () => {
    expect((await api.call('/push/notify', { method: 'PUT', body: {} })).code).toBe(40501)
    expect((await api.call('/push/notify/', { body: {} })).code).toBe(40401)
    const absolute = await bytesOf('http://x/push/notify', login() + sized(body), body)
    expect(absolute).toContain('"task_id":4711')
  })
})

it('a call that may have changed something is told to the planner of the same process, after its commit', async () => {
  const notified = async (path: string, options: CallOptions) => {
    const before = notes
    await api.call(path, options)
    return notes - before
  }
  expect(await notified('/push/notify', { body: JSON.parse(body) })).toBe(1)
  expect(await notified('/push/notify', { body: {} })).toBe(0)
  expect(await notified('/admin/push/certificate/list', { method: 'GET' })).toBe(0)
})
