import { codesOf, NDJSON, type Operation } from './document.ts'
import type { JsonSchema } from './schemas.ts'

const asAdmin = `-H "app_id: $APP_ID" -H "access-token: $TOKEN" -H 'content-type: application/json'`

/**
 * Shell variables for the examples. The examples that remove or revoke something get their own user, group and application. The
 * public key is escaped for JSON; $ID_TOKEN is signed with the private key of it, which is kept nowhere.
 */
export const demoVariables = `export $(node -e 'const d = require("./.herald/demo.json"); console.log(
  "BASE_URL=" + d.base_url, "APP_ID=" + d.app_id, "APP_SECRET=" + d.app_secret, "TOKEN=" + d.admin_token,
  "OPERATOR_KEY=" + d.operator_key, "USER_ID=" + d.user.user_id, "USERNAME=" + d.user.username, "PASSWORD=" + d.user.password)')
export PUSH_TOKEN=$(curl -s -X POST "$BASE_URL/token/user" -H "app_id: $APP_ID" -H 'content-type: application/json' \\
  -d "{\\"name\\":\\"$USERNAME\\",\\"password\\":\\"$PASSWORD\\",\\"device_guid\\":\\"demo-native\\"}" | sed 's/.*"push_token":"\\([^"]*\\).*/\\1/')
export TASK_ID=$(curl -s -X POST "$BASE_URL/push/notify" ${asAdmin} \\
  -d '{"audience":"all","message":{"title":"Hello"}}' | sed 's/.*"task_id":\\([0-9]*\\).*/\\1/')
export OTHER_USER_ID=$(curl -s -X POST "$BASE_URL/admin/user" ${asAdmin} \\
  -d "{\\"username\\":\\"other-$(date +%s)\\",\\"password\\":\\"other-password\\"}" | sed 's/.*"user_id":\\([0-9]*\\).*/\\1/')
export GROUP_ID=$(curl -s -X POST "$BASE_URL/admin/group" ${asAdmin} \\
  -d "{\\"name\\":\\"others-$(date +%s)\\"}" | sed 's/.*"group_id":\\([0-9]*\\).*/\\1/')
export WEBHOOK_ID=$(curl -s -X PUT "$BASE_URL/admin/webhook" ${asAdmin} \\
  -d '{"name":"other","url":"https://hooks.example.com/herald","events":["task.finished"]}' | sed 's/.*"webhook_id":\\([0-9]*\\).*/\\1/')
export OTHER_APP_ID=$(curl -s -X POST "$BASE_URL/admin/app" -H "authorization: Bearer $OPERATOR_KEY" -H 'content-type: application/json' \\
  -d "{\\"name\\":\\"other-$(date +%s)\\"}" | sed 's/.*"app_id":"\\([^"]*\\).*/\\1/')
eval "$(node -e 'const c = require("crypto"), { publicKey, privateKey } = c.generateKeyPairSync("ed25519")
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url")
  const claims = { iss: "login.example.com", aud: "example-app", sub: "carol", exp: Math.floor(Date.now() / 1000) + 86400 }
  const signed = part({ alg: "EdDSA" }) + "." + part(claims)
  console.log("export ID_TOKEN=" + signed + "." + c.sign(null, Buffer.from(signed), privateKey).toString("base64url"))
  console.log("export PUBLIC_KEY=" + JSON.stringify(JSON.stringify(publicKey.export({ type: "spki", format: "pem" })).slice(1, -1)))')"`

/** The parts of a call that the HTML and Markdown pages show. */
export type OperationParts = {
  query: Field[]
  /** Undefined: the call has no JSON body. */
  body: Field[] | undefined
  answer: Field[]
  /** The answer has one object per line and no envelope. */
  isLines: boolean
  /** Failure codes. */
  codes: readonly number[]
  curl: string
}

export type Field = { name: string; type: string; required: boolean; about: string }

export function readOperation(path: string, method: string, operation: Operation): OperationParts {
  const content = (operation.requestBody as { content?: Record<string, Content> } | undefined)?.content
  const json = content?.['application/json']
  const example = json?.example ?? content?.['application/x-ndjson']?.example
  const success = (operation.responses['200'] as { content: Record<string, { schema: JsonSchema }> }).content
  const envelope = success['application/json']?.schema.properties as { data: JsonSchema } | undefined
  return {
    query: operation.parameters
      .filter((parameter) => parameter.in === 'query')
      .map(({ name, schema, required }) => fieldOf(name as string, schema as JsonSchema, Boolean(required))),
    body: json?.schema && fieldsOf(json.schema),
    answer: fieldsOf(envelope?.data ?? success[NDJSON]!.schema),
    isLines: envelope === undefined,
    codes: codesOf(operation),
    curl: curlOf(path, method, operation, example),
  }
}

type Content = { schema?: JsonSchema; example?: unknown }

function fieldOf(name: string, schema: JsonSchema, required: boolean): Field {
  return { name, type: typeOf(schema), required, about: String(schema.description ?? '') }
}

/**
 * Lists the fields of nested objects by dotted names, as failure messages do. `alternatives` are the objects that may be in this place: a
 * field is required only if all of them require it.
 */
function fieldsOf(schema: JsonSchema, prefix = '', alternatives: readonly JsonSchema[] = [schema]): Field[] {
  if (schema.type === 'array') return fieldsOf(schema.items as JsonSchema, `${prefix}[]`)
  const options = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined
  if (options) {
    const objects = options.filter(({ properties }) => properties !== undefined)
    return options.flatMap((option) => fieldsOf(option, prefix, objects))
  }
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>
  return Object.entries(properties).flatMap(([name, property]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    const isRequired = alternatives.every(({ required = [] }) => (required as string[]).includes(name))
    return [fieldOf(path, property, isRequired), ...fieldsOf(property, path)]
  })
}

function typeOf(schema: JsonSchema): string {
  const options = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined
  if (options) return options.map(typeOf).join(' or ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return (schema.enum as unknown[]).map((value) => JSON.stringify(value)).join(', ')
  if (schema.type === 'array') {
    const limit = schema.maxItems === undefined ? '' : `, at most ${schema.maxItems} items`
    return `list of ${typeOf((schema.items ?? {}) as JsonSchema)}${limit}`
  }
  const limits = [
    schema.minimum !== undefined && `from ${schema.minimum}`,
    schema.maximum !== undefined && `to ${schema.maximum}`,
    schema.maxLength !== undefined && `at most ${schema.maxLength} characters`,
  ].filter(Boolean)
  const types = [schema.type ?? 'any'].flat() as string[]
  const names = schema.format === 'int64' ? ['int64', ...types.filter((type) => type === 'null')] : types
  return [names.join(' or '), ...limits].join(' ')
}

function curlOf(path: string, method: string, operation: Operation, example: unknown): string {
  const given = (place: 'query' | 'header') =>
    operation.parameters.filter((parameter) => parameter.in === place && parameter.example !== undefined)
  const query = given('query').map(({ name, example }) => `${name}=${example}`)
  const lines = [
    `curl -X ${method.toUpperCase()} "$BASE_URL${path}${query.length > 0 ? `?${query.join('&')}` : ''}"`,
  ]
  if (operation.security.some((scheme) => 'operatorKey' in scheme))
    lines.push(`-H "authorization: Bearer $OPERATOR_KEY"`)
  else lines.push(`-H "app_id: $APP_ID"`)
  // Devices call with their push token alone, so an optional access token is not shown.
  const [first = {}] = operation.security
  if ('accessToken' in first) lines.push(`-H "access-token: $TOKEN"`)
  for (const { name, example } of given('header')) lines.push(`-H "${name}: ${example}"`)
  if (example !== undefined && method !== 'get') {
    const isText = typeof example === 'string'
    lines.push(`-H 'content-type: ${isText ? 'application/x-ndjson' : 'application/json'}'`)
    lines.push(`-d ${shellQuoted(isText ? example : JSON.stringify(example))}`)
  }
  return lines.join(' \\\n  ')
}

/** In double quotes if it contains variables. */
function shellQuoted(text: string): string {
  return text.includes('$') ? `"${text.replaceAll(/["\\`]/g, '\\$&')}"` : `'${text}'`
}
