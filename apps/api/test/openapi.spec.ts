import { generateKeyPairSync, sign } from 'node:crypto'
import { objectNames } from '@herald/domain'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { codes } from '../src/codes.ts'
import { chineseCodes, chineseSections, chineseSummaries } from '../src/openapi/chinese.ts'
import { chineseAccess, chineseDescriptions } from '../src/openapi/chinese-descriptions.ts'
import { createDocsPage } from '../src/openapi/docs-page.ts'
import { accessText, type OpenApiDocument, openApiDocument } from '../src/openapi/document.ts'
import { routes } from '../src/routes.ts'
import { OPERATOR_KEY, openTestApi, type TestApi } from './harness.ts'

let api: TestApi
let document: OpenApiDocument
beforeAll(async () => {
  api = await openTestApi({
    env: { HERALD_HUAWEI_AUTH_URL: 'http://127.0.0.1:9', HERALD_HUAWEI_URL: 'http://127.0.0.1:9' },
  })
  document = (await (await fetch(`${api.url}/openapi.json`)).json()) as OpenApiDocument
})
afterAll(() => api.close())

const types = new Set(['string', 'integer', 'number', 'boolean', 'object', 'array', 'null'])

/** Checks every schema object, for the part of JSON Schema 2020-12 that the document uses. */
function checkSchema(schema: unknown, path: string): void {
  expect([path, typeof schema]).toEqual([path, 'object'])
  const {
    type,
    properties,
    required,
    items,
    enum: values,
    anyOf,
    oneOf,
    allOf,
    $ref,
  } = schema as Record<string, unknown>
  if ($ref !== undefined) expect(lookUp(String($ref))).toBeDefined()
  if (type !== undefined)
    for (const one of [type].flat()) expect([path, types.has(one as string)]).toEqual([path, true])
  if (values !== undefined) expect((values as unknown[]).length).toBeGreaterThan(0)
  for (const name of (required ?? []) as string[])
    expect(Object.keys((properties ?? {}) as object)).toContain(name)
  for (const [name, property] of Object.entries((properties ?? {}) as object))
    checkSchema(property, `${path}.${name}`)
  if (type === 'array') expect([path, items !== undefined]).toEqual([path, true])
  if (items !== undefined) checkSchema(items, `${path}[]`)
  for (const list of [anyOf, oneOf, allOf])
    for (const option of (list ?? []) as unknown[]) checkSchema(option, `${path}|`)
}

function lookUp(ref: string): unknown {
  return ref
    .replace(/^#\//, '')
    .split('/')
    .reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], document)
}

describe('the document', () => {
  it('is OpenAPI 3.1 and well-formed throughout', () => {
    expect(document.openapi).toMatch(/^3\.1\./)
    expect(document.info).toMatchObject({ title: 'Herald', version: expect.any(String) })
    const ids = new Set<string>()
    for (const [path, methods] of Object.entries(document.paths)) {
      expect(path).toMatch(/^\/[a-z/]+$/)
      for (const [method, operation] of Object.entries(methods)) {
        const where = `${method} ${path}`
        expect(ids.has(operation.operationId)).toBe(false)
        ids.add(operation.operationId)
        for (const parameter of operation.parameters) {
          expect(['header', 'query']).toContain(parameter.in)
          expect(parameter).toHaveProperty('name')
          checkSchema(parameter.schema, where)
        }
        for (const scheme of operation.security)
          for (const name of Object.keys(scheme))
            expect(document.components.securitySchemes).toHaveProperty(name)
        const contents = [operation.requestBody, ...Object.values(operation.responses)].filter(
          (part) => part !== undefined,
        )
        for (const { content } of contents as { content: Record<string, { schema: unknown }> }[])
          for (const media of Object.values(content)) checkSchema(media.schema, where)
        for (const response of Object.values(operation.responses))
          expect(response).toHaveProperty('description')
      }
    }
    for (const schema of Object.values(document.components.schemas)) checkSchema(schema, 'component')
  })

  it('has every route and no other', () => {
    const listed = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    )
    expect(listed.sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort())
  })

  it('is the one that the code generates', () => {
    expect(document).toEqual(JSON.parse(JSON.stringify(openApiDocument(api.deps.publicUrl))))
  })

  it('shows the table of codes', () => {
    for (const [code, when] of Object.entries(codes))
      expect(document.info.description).toContain(`| ${code} | ${when} |`)
  })

  it('lists the fields of notify', () => {
    const { schema } = (
      document.paths['/push/notify']!.post!.requestBody as { content: Record<string, { schema: never }> }
    ).content['application/json']!
    const message = (
      schema as { properties: { message: { properties: object; additionalProperties: boolean } } }
    ).properties.message
    const common =
      'attachment_url badge big_text body click_action collapse_key ext foreground show_begin_time show_end_time title type urgent url'.split(
        ' ',
      )
    expect(Object.keys(message.properties).sort()).toEqual([...common, ...objectNames].sort())
    expect(message.additionalProperties).toBe(false)
  })

  it('has an example for every call that needs a body', () => {
    const without = routes.filter(
      ({ method, input, example }) =>
        method !== 'get' && example === undefined && !input.safeParse({}).success,
    )
    expect(without.map(({ path }) => path)).toEqual([])
  })

  it('has examples that work', async () => {
    await api.client.putCertificate({ provider: 2, app_id: '100', app_secret: 's' })
    const demo = await api.user('demo', { guid: 'demo-native' })
    const { task_id } = await api.client.notify({ audience: 'all', message: { title: 'Hello' } })
    const values: Record<string, string> = {
      $USER_ID: String(demo.userId),
      $USERNAME: 'demo',
      $PASSWORD: 'demo-password',
      $APP_SECRET: api.appSecret,
      $PUSH_TOKEN: demo.pushToken,
      $TASK_ID: String(task_id),
      $OTHER_USER_ID: String((await api.user('other')).userId),
      $GROUP_ID: String((await api.client.createGroup('others')).group_id),
      $WEBHOOK_ID: String(
        (
          await api.client.putWebhook({
            name: 'other',
            url: 'https://hooks.example.com/',
            events: ['task.finished'],
          })
        ).webhook_id,
      ),
      $OTHER_APP_ID: (await api.createApplication('other')).appId,
      ...exchangeValues(),
    }
    const filled = (text: string) => text.replaceAll(/\$[A-Z_]+/g, (name) => values[name] ?? name)
    const given = routes.filter(({ example }) => example !== undefined)
    for (const { path, method, example, access, stream } of given) {
      const text = filled(stream ? (example as string) : JSON.stringify(example))
      const query = method === 'get' ? `?${new URLSearchParams(JSON.parse(text))}` : ''
      const answer = await api.call(`${path}${query}`, {
        method: method.toUpperCase(),
        headers: {
          'content-type': 'application/json',
          ...(access === 'user' && { user_id: values.$USER_ID! }),
          ...((access === 'operator' || access === 'owner') && { authorization: `Bearer ${OPERATOR_KEY}` }),
        },
        raw: method === 'get' ? undefined : text,
      })
      expect([path, answer.code, answer.message]).toEqual([path, 200, null])
    }
  })
})

/** As `demoVariables` makes them. */
function exchangeValues(): Record<string, string> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + 3600
  const claims = { iss: 'login.example.com', aud: 'example-app', sub: 'carol', exp }
  const signed = `${part({ alg: 'EdDSA' })}.${part(claims)}`
  return {
    $ID_TOKEN: `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`,
    $PUBLIC_KEY: JSON.stringify(publicKey.export({ type: 'spki', format: 'pem' })).slice(1, -1),
  }
}

describe('the HTML page', () => {
  it('shows every call and every code, and loads no external resources', async () => {
    const response = await fetch(`${api.url}/docs`)
    expect(response.headers.get('content-type')).toContain('text/html')
    const page = await response.text()
    expect(page).toBe(createDocsPage(openApiDocument(api.deps.publicUrl))())
    for (const { path, summary } of routes) {
      expect(page).toContain(`<code>${path}</code>`)
      expect(page).toContain(summary.replaceAll('&', '&amp;'))
    }
    for (const code of Object.keys(codes)) expect(page).toContain(`<code>${code}</code>`)
    // Every call can be linked to, and there is a way back to the console.
    for (const { method, path } of routes)
      expect(page).toContain(`<p id="${`${method}${path}`.replaceAll(/\W+/g, '-')}"`)
    expect(page).toContain('<a href="/console/">')
    expect(page).not.toMatch(/<script|src=|https?:\/\/(?!127)|@import/)
  })

  it('has the purpose of every call, section and code in Chinese', async () => {
    const names = routes.map(({ method, path }) => `${method.toUpperCase()} ${path}`)
    expect(Object.keys(chineseSummaries).sort()).toEqual(names.sort())
    expect(Object.keys(chineseSections).sort()).toEqual(document.tags.map(({ name }) => name).sort())
    expect(Object.keys(chineseCodes)).toEqual(Object.keys(codes))
    const described = routes
      .filter(({ description }) => description)
      .map(({ method, path }) => `${method.toUpperCase()} ${path}`)
    expect(Object.keys(chineseDescriptions).sort()).toEqual(described.sort())
    const open = async (query: string, headers = {}) =>
      (await fetch(`${api.url}/docs${query}`, { headers })).text()
    const page = await open('?lang=zh')
    expect(page).toContain('<html lang="zh-CN">')
    for (const text of [chineseSummaries, chineseSections, chineseAccess].flatMap(Object.values))
      expect(page).toContain(text.replaceAll(/`([^`]*)`/g, '<code>$1</code>'))
    expect(page).not.toContain(accessText.admin)
    expect(await open('', { 'accept-language': 'zh-CN,zh;q=0.9,en;q=0.8' })).toBe(page)
    expect(await open('?lang=en', { 'accept-language': 'zh-CN' })).toBe(await open(''))
  })

  it('finds calls by their names, fields and texts, in either language', async () => {
    const open = async (query: string) => (await fetch(`${api.url}/docs?${query}`)).text()
    const found = async (query: string) =>
      [...(await open(query)).matchAll(/<details open><summary><b class="(\w+)">.*?<code>([^<]+)/g)].map(
        ([, method, path]) => `${method} ${path}`,
      )
    expect(await found('q=PAUSE%20task')).toContain('post /push/task/pause')
    expect(await found('q=collapse_key')).toContain('post /push/notify')
    expect(await found('lang=zh&q=%E6%92%A4%E5%9B%9E')).toContain('post /push/task/recall')
    expect(await found('lang=zh&q=recall')).toContain('post /push/task/recall')
    expect(await found('q=no-such-word')).toEqual([])
    const hostile = await open(`q=${encodeURIComponent('"><script>alert(1)</script>'.repeat(100))}`)
    expect(hostile).not.toContain('<script')
    expect(hostile.length).toBeLessThan(10_000)
  })
})

describe('health and metrics', () => {
  it('answer without headers, in their own format', async () => {
    const get = (path: string) => fetch(`${api.url}${path}`)
    expect((await get('/healthz')).status).toBe(200)
    // A check that takes two seconds counts as no answer.
    const ready = await until(async () => {
      const answer = await get('/readyz')
      return answer.ok && answer.json()
    })
    expect(ready).toEqual({ ready: true, waiting: [] })
    await api.call('/push/task/list', { body: {} })
    const metrics = await (await get('/metrics')).text()
    expect(metrics).toContain('herald_http_seconds_count{program="spec",path="/push/task/list",status="200"')
  })
})
