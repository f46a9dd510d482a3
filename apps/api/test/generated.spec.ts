import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc, { type Arbitrary } from 'fast-check'
import { createPasswords } from '../src/auth/passwords.ts'
import { type Operation, openApiDocument } from '../src/openapi/document.ts'
import type { JsonSchema } from '../src/openapi/schemas.ts'
import {
  type Answer,
  type CallOptions,
  countingPasswords,
  OPERATOR_KEY,
  openTestApi,
  type TestApi,
} from './harness.ts'

/** A failure can be reproduced. */
const SEED = 20_261_115
const nowhere = 'http://127.0.0.1:9'
const vendors =
  'APNS APNS_SANDBOX FCM FCM_TOKEN HUAWEI HUAWEI_AUTH HONOR HONOR_AUTH XIAOMI OPPO OPPO_INTL VIVO MEIZU MEIZU_INTL'.split(
    ' ',
  )
let api: TestApi
let user: { userId: number; token: string; pushToken: string }
let known: Record<string, unknown[]>

beforeAll(async () => {
  api = await openTestApi({
    env: Object.fromEntries(vendors.map((name) => [`HERALD_${name}_URL`, nowhere])),
    overrides: { passwords: createPasswords({ derive: countingPasswords().derive }) },
  })
  user = await api.user('known', { guid: 'known-guid' })
  const { group_id } = await api.client.createGroup('known')
  const { task_id } = await api.client.notify({ audience: 'all', message: { title: 'known' } })
  // Without these a generator would never get past "does not exist".
  known = {
    push_token: [user.pushToken],
    device_guid: ['known-guid'],
    user_id: [user.userId],
    group_id: [group_id],
    task_id: [task_id],
    list: [[task_id]],
    device_token: ['ab'.repeat(32), 'fcm:token', 'A'.repeat(24)],
  }
})
afterAll(() => api.close())

/** Generates values of a schema of the document, and sometimes an arbitrary value instead. */
function valuesOf(schema: JsonSchema, name = ''): Arbitrary<unknown> {
  const anything = fc.jsonValue({ maxDepth: 2, noUnicodeString: false })
  const right = rightValues(schema)
  return fc.oneof(
    { weight: 20, arbitrary: name in known ? fc.oneof(fc.constantFrom(...known[name]!), right) : right },
    { weight: 1, arbitrary: anything },
  )
}

function rightValues(schema: JsonSchema): Arbitrary<unknown> {
  const options = (schema.oneOf ?? schema.anyOf) as JsonSchema[] | undefined
  if (options) return fc.oneof(...options.map((option) => valuesOf(option)))
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...(schema.enum as unknown[]))
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  switch (type) {
    case 'string':
      return fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.string({ maxLength: 80 }))
    case 'integer':
      return fc.oneof(
        fc.integer({ min: -1, max: 20 }),
        fc.maxSafeInteger(),
        fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String),
      )
    case 'number':
      return fc.double()
    case 'boolean':
      return fc.boolean()
    case 'array':
      return fc.array(valuesOf(schema.items as JsonSchema), { maxLength: 3 })
    case 'object': {
      const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
      if (properties.length === 0)
        return fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 })
      const fields = Object.fromEntries(
        properties.map(([name, property]) => [name, valuesOf(property, name)]),
      )
      return fc.record(fields, { requiredKeys: (schema.required ?? []) as string[] })
    }
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

function bodyOf(operation: Operation): Arbitrary<unknown> {
  const body = operation.requestBody as { content: Record<string, { schema: JsonSchema }> } | undefined
  const json = body?.content['application/json']
  if (json) return valuesOf(json.schema)
  return body ? fc.array(fc.jsonValue({ maxDepth: 3 })) : fc.constant(undefined)
}

function queryOf(operation: Operation): Arbitrary<string> {
  const parameters = operation.parameters.filter((parameter) => parameter.in === 'query')
  const fields = parameters.map(
    ({ name, schema }) => [name as string, valuesOf(schema as JsonSchema, name as string)] as const,
  )
  return fc
    .record(Object.fromEntries(fields), { requiredKeys: [] })
    .map((query) =>
      String(
        new URLSearchParams(
          Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
        ),
      ),
    )
}

const operations = Object.entries(openApiDocument().paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(
    ([method, operation]) =>
      [`${method.toUpperCase()} ${path}`, path, method.toUpperCase(), operation] as const,
  ),
)

describe('a client made from the document', () => {
  it.each(operations)(
    'gets nothing from %s that the document does not describe',
    async (_name, path, method, operation) => {
      const codes = new Set<number>()
      await fc.assert(
        fc.asyncProperty(bodyOf(operation), queryOf(operation), fc.boolean(), async (body, query, asUser) => {
          const answer = await ask(query === '' ? path : `${path}?${query}`, {
            method,
            token: path === '/token/revoke' ? null : undefined,
            headers: {
              'content-type': 'application/json',
              ...(asUser && { user_id: String(user.userId) }),
              ...(path.startsWith('/admin/app') && { authorization: `Bearer ${OPERATOR_KEY}` }),
            },
            raw: method === 'GET' || body === undefined ? undefined : lines(body, operation),
          })
          codes.add(answer.code)
          if (answer.status >= 500) throw new Error(answer.text)
        }),
        { numRuns: 40, seed: SEED },
      )
      expect(codes.size).toBeGreaterThan(0)
    },
  )
})

/** Retries on 50301 (nothing was accepted): on a busy machine a connection takes seconds. */
async function ask(path: string, options: CallOptions): Promise<Answer> {
  for (let left = 5; ; left--) {
    const answer = await api.call(path, options)
    if (answer.code !== 50301 || left === 0) return answer
  }
}

function lines(body: unknown, operation: Operation): string {
  const isStream = operation.operationId === 'post_admin_device_import'
  return isStream ? (body as unknown[]).map((line) => JSON.stringify(line)).join('\n') : JSON.stringify(body)
}
